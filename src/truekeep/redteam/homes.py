"""Homes of keeps that are built once, and copies of them to be attacked and thrown away; embedders with a memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep.config import Settings
from truekeep.embed import Embedder, Kind, by_name
from truekeep.keep import Keep
from truekeep.rules.registry import FILE as RULES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Now = Callable[[], datetime]

NONE = "none"
KEEP = "arena"
_MOST = 50_000  # vectors kept in memory: about 75 MB
_CONFIGURATION = ("config.toml", RULES)


class Home:
    """A directory with one keep in it, with the settings and rules of a real home and none of its keys."""

    def __init__(
        self,
        place: Path,
        settings: Settings,
        *,
        config: Path | None = None,
        embedder: Callable[[], Embedder | None] | None = None,
    ) -> None:
        """``embedder`` stands in for the one that the settings name."""
        self.place = place
        # Where keys and anchors of real keeps are is nothing to an attacked copy.
        self.settings = replace(settings, anchor="keys", master_key="")
        self._embedder = embedder or partial(cached, settings.embedder)
        place.mkdir(parents=True)
        for name in _CONFIGURATION:
            if config is not None and (file := config / name).is_file():
                shutil.copy(file, place / name)

    @contextmanager
    def opened(self, clock: Now) -> Iterator[Keep]:
        """The keep itself."""
        with self.opened_at(self.place, clock) as keep:
            yield keep

    @contextmanager
    def copied(self, to: Path, clock: Now) -> Iterator[Keep]:
        """The keep in a copy of the home, which is gone afterwards."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.place, to)
        try:
            with self.opened_at(to, clock) as keep:
                yield keep
        finally:
            shutil.rmtree(to, ignore_errors=True)

    @contextmanager
    def opened_at(self, place: Path, clock: Now, name: str = KEEP) -> Iterator[Keep]:
        """The keep, or one of another name, in a copy of the home."""
        with (
            _own_keys(),
            Keep.open(
                name, home=place, settings=self.settings, embedder=self._embedder, clock=clock, background=False
            ) as keep,
        ):
            yield keep


@contextmanager
def _own_keys() -> Iterator[None]:
    """Keys are made beside the copy, even where a variable moves those of real keeps."""
    moved = os.environ.pop("TRUEKEEP_KEYS", None)
    try:
        yield
    finally:
        if moved is not None:
            os.environ["TRUEKEEP_KEYS"] = moved


class CachedEmbedder:
    """Gives the same vectors as the embedder behind it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[Kind, str], NDArray[np.float32]] = {}

    @property
    def model_id(self) -> str:
        """The model behind it."""
        return self._embedder.model_id

    @property
    def dim(self) -> int:
        """The length of its vectors."""
        return self._embedder.dim

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """A vector for each text, embedded now or before."""
        import numpy as np  # noqa: PLC0415 - only where there is an embedder

        found = {text: self._known[kind, text] for text in texts if (kind, text) in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found |= dict(zip(missing, self._embedder.embed(missing, kind), strict=True))
            if len(self._known) < _MOST:
                self._known |= {(kind, text): found[text] for text in missing}
        return np.stack([found[text] for text in texts])


@lru_cache(maxsize=2)
def cached(spec: str) -> CachedEmbedder | None:
    """The embedder that a setting names, with a memory; none for keywords alone."""
    embedder = by_name(spec)
    return CachedEmbedder(embedder) if embedder is not None else None


@dataclass(frozen=True, slots=True)
class NamedEmbedder:
    """An embedder and its name; without one recall is by keywords alone."""

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


def encoder(spec: str) -> NamedEmbedder:
    """The encoder that the setting ``embedder`` names in this way; what it embeds is kept for the whole run."""
    return NamedEmbedder(spec, cached(spec))
