"""The encoders that stores are measured with, by name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.encoders.kept_vectors import KeptVectors
from truekeep.config import Paths
from truekeep.embed import Embedder, by_name
from truekeep.redteam.encoders import NONE, CachedEmbedder, NamedEmbedder

MINILM, E5, GRANITE = "minilm", "e5-small", "granite-30m"
ENCODERS = (MINILM, E5, GRANITE, NONE)
"""Three that differ in training and geometry, and keywords alone."""


@cache
def load(name: str, cache_dir: Path | None = None) -> NamedEmbedder:
    """The encoder of that name, fetched at the first need; or any that the setting ``embedder`` can name.

    Raises a ``TruekeepError`` that says why it cannot be had. Whatever it embeds is kept under ``cache_dir``.
    """
    folder = cache_dir or default_cache()
    embedder = _embedder(name, folder)
    if embedder is None:
        return NamedEmbedder(name, None)
    return NamedEmbedder(name, CachedEmbedder(KeptVectors(embedder, folder / "vectors")))


def default_cache() -> Path:
    """Where models, environments and vectors of red-team runs are kept."""
    return Paths.resolve().cache / "redteam"


def _embedder(name: str, folder: Path) -> Embedder | None:
    if name == E5:
        from benchmarks.encoders.fetching import e5_small

        return by_name(f"e5:{e5_small(folder)}")
    if name == GRANITE:
        from benchmarks.encoders.granite import GraniteEmbedder

        return GraniteEmbedder(folder)
    return by_name(name)
