"""The encoders that stores are measured with, by name; one that cannot be had is left out with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from truekeep.config import Paths
from truekeep.embed import Embedder, by_name
from truekeep.errors import TruekeepError
from truekeep.redteam.influence.vectors import CachedEmbedder
from truekeep.redteam.retrieval.kept_vectors import KeptVectors

MINILM, E5, GRANITE, NONE = "minilm", "e5-small", "granite-30m", "none"
ENCODERS = (MINILM, E5, GRANITE, NONE)
"""Three that differ in training and geometry, and keywords alone."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder under the name that it has in reports; without an embedder recall is by keywords alone."""

    name: str
    embedder: Embedder | None

    def warm(self, queries: Iterable[str] = (), passages: Iterable[str] = ()) -> None:
        """Embed these together now, which costs less than one by one later."""
        if self.embedder is None:
            return
        if asked := list(queries):
            self.embedder.embed(asked, "query")
        if said := list(passages):
            self.embedder.embed(said, "passage")


@cache
def load(name: str, cache_dir: Path | None = None) -> Encoder:
    """The encoder of that name, fetched at the first need; or any that the setting ``embedder`` can name.

    Raises a ``TruekeepError`` that says why it cannot be had. Whatever it embeds is kept under ``cache_dir``.
    """
    folder = cache_dir or default_cache()
    embedder = _embedder(name, folder)
    if embedder is None:
        return Encoder(name, None)
    return Encoder(name, CachedEmbedder(KeptVectors(embedder, folder / "vectors")))


def available(names: Iterable[str], cache_dir: Path | None = None) -> tuple[list[Encoder], dict[str, str]]:
    """Those that can be had, and why the others cannot."""
    found: list[Encoder] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            found.append(load(name, cache_dir))
        except TruekeepError as reason:
            missing[name] = str(reason)
    return found, missing


def default_cache() -> Path:
    """Where models, environments and vectors of red-team runs are kept."""
    return Paths.resolve().cache / "redteam"


def _embedder(name: str, folder: Path) -> Embedder | None:
    if name == E5:
        from truekeep.redteam.retrieval.fetching import e5_small  # noqa: PLC0415 - seldom needed

        return by_name(f"e5:{e5_small(folder)}")
    if name == GRANITE:
        from truekeep.redteam.retrieval.granite import GraniteEmbedder  # noqa: PLC0415 - seldom needed

        return GraniteEmbedder(folder)
    return by_name(name)
