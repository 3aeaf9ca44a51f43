"""Turns texts into vectors: the protocol, the offline default, and others by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from truekeep.embed.base import Embedder, EmbedderError, Kind, UnknownEmbedder
from truekeep.embed.guarded import GuardedEmbedder

__all__ = ["Embedder", "EmbedderError", "GuardedEmbedder", "Kind", "UnknownEmbedder", "by_name", "default"]


@cache
def default() -> Embedder:
    """The embedder of a plain install, loaded at the first call and kept.

    Without its multilingual half, which is a package of its own, it is MiniLM alone.
    """
    from truekeep.embed import multilingual  # noqa: PLC0415  (numpy and onnxruntime load only when needed)

    return multilingual.MultilingualEmbedder() if multilingual.found() else _minilm()


@cache
def _minilm() -> Embedder:
    from truekeep.embed import minilm  # noqa: PLC0415  (numpy and onnxruntime load only when needed)

    return minilm.load()


def by_name(spec: str) -> Embedder | None:
    """The embedder that a setting names; ``none`` is no embedder at all, so recall is by keywords alone.

    ``default``, ``minilm``, ``none``, ``e5:DIRECTORY``, ``sentence-transformers:DIRECTORY``,
    ``fastembed:DIRECTORY#MODEL`` or ``openai:URL#MODEL``.
    """
    name, _, rest = spec.partition(":")
    if name in _BUILT_IN and not rest:
        return _BUILT_IN[name]()
    if name == "openai" and rest:
        from truekeep.embed import remote  # noqa: PLC0415  (http and ssl load only when needed)

        return remote.from_spec(rest)
    if name in ("e5", "sentence-transformers", "fastembed") and rest:
        return _from_directory(name, rest)
    raise UnknownEmbedder("No embedder has that name.")


_BUILT_IN: dict[str, Callable[[], Embedder | None]] = {"default": default, "minilm": _minilm, "none": lambda: None}


def _from_directory(name: str, rest: str) -> Embedder:
    from truekeep.embed import local  # noqa: PLC0415  (numpy and onnxruntime load only when needed)

    directory, _, model = rest.partition("#")
    path = Path(directory).expanduser()
    if not path.is_dir():
        raise EmbedderError("The embedder's directory does not exist.")
    if name == "e5":
        return local.load_e5(path)
    if name == "sentence-transformers":
        return local.load_sentence_transformers(path)
    return local.load_fastembed(path, model or "sentence-transformers/all-MiniLM-L6-v2")
