"""Turns texts into vectors: the protocol, the offline default, and others by name."""

from __future__ import annotations

from functools import cache

from truekeep.embed.base import Embedder, EmbedderError, Kind, UnknownEmbedder

__all__ = ["Embedder", "EmbedderError", "Kind", "UnknownEmbedder", "by_name", "default"]


@cache
def default() -> Embedder:
    """The embedder of a plain install, loaded at the first call and kept."""
    from truekeep.embed import minilm  # noqa: PLC0415  (numpy and onnxruntime load only when needed)

    return minilm.load()


def by_name(spec: str) -> Embedder | None:
    """The embedder that a setting names; ``none`` is no embedder at all, so recall is by keywords alone."""
    if spec == "minilm":
        return default()
    if spec == "none":
        return None
    raise UnknownEmbedder("No embedder has that name.")
