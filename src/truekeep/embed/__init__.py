"""Turns texts into vectors: the protocol, the offline default, and others by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, RLock, Thread

from truekeep.embed.base import Embedder, EmbedderError, Kind, UnknownEmbedder
from truekeep.embed.guarded import GuardedEmbedder

__all__ = [
    "Embedder",
    "EmbedderError",
    "GuardedEmbedder",
    "Kind",
    "UnknownEmbedder",
    "by_name",
    "check_name",
    "default",
    "expect_few_texts",
    "load_ahead",
]


_LOADING = RLock()
"""Held while an embedder of the house is loaded: whoever needs it meanwhile waits for that one instead of a second."""


_LOADED: dict[str, Embedder] = {}
_FEW = Event()


def default() -> Embedder:
    """The embedder of a plain install, loaded at the first call and kept.

    Without its multilingual half, which is a package of its own, it is MiniLM alone.
    """
    return _of_the_house("default")


def _minilm() -> Embedder:
    return _of_the_house("minilm")


def expect_few_texts() -> None:
    """Load the embedders of the house quickly rather than for many texts, in this process, from now on."""
    _FEW.set()


def _of_the_house(spec: str) -> Embedder:
    with _LOADING:
        if spec not in _LOADED:
            _LOADED[spec] = _load(spec)
        return _LOADED[spec]


def _load(spec: str) -> Embedder:
    from truekeep.embed import minilm, multilingual  # noqa: PLC0415  (numpy and onnxruntime load only when needed)

    brief = _FEW.is_set()
    if spec == "minilm":
        return minilm.load(brief=brief)
    if multilingual.found():
        return multilingual.MultilingualEmbedder(brief=brief)
    return _of_the_house("minilm")


def load_ahead(spec: str) -> None:
    """Begin to load an embedder of the house, for a program that will need it in a moment.

    Most of that is unpacking and checking, which a second core does while the first is importing the rest. Whatever
    goes wrong is said to whoever needs the embedder.
    """
    if spec in ("default", "minilm"):
        Thread(target=_load_silently, args=(spec,), name="truekeep-embedder").start()


def _load_silently(spec: str) -> None:
    with suppress(Exception):
        # The first text that is embedded takes several times as long as the second.
        _of_the_house(spec).embed(["a"], "query")


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
    if name in _IN_DIRECTORIES and rest:
        return _from_directory(name, rest)
    raise UnknownEmbedder("No embedder has that name.")


_BUILT_IN: dict[str, Callable[[], Embedder | None]] = {"default": default, "minilm": _minilm, "none": lambda: None}


_IN_DIRECTORIES = ("e5", "sentence-transformers", "fastembed")


def check_name(spec: str) -> None:
    """Refuse a setting that can name no embedder: a word nobody knows, or a directory that is not there.

    Nothing is loaded for it, so that a keep can ask when it is opened. Found only at the first recall, a mistyped path
    would look like a memory that finds little.
    """
    name, _, rest = spec.partition(":")
    if name in _IN_DIRECTORIES and rest:
        _directory(rest)
    elif not ((name in _BUILT_IN and not rest) or (name == "openai" and rest)):
        raise UnknownEmbedder("No embedder has that name.")


def _directory(rest: str) -> tuple[Path, str]:
    """Where the files are, and the model's name if there is one."""
    directory, _, model = rest.partition("#")
    path = Path(directory).expanduser()
    if not path.is_dir():
        raise UnknownEmbedder(
            "The embedder's directory does not exist.",
            code="embedder_not_found",
            hint="Correct the path in the setting 'embedder' (TRUEKEEP_EMBEDDER), or leave the setting out.",
        )
    return path, model


def _from_directory(name: str, rest: str) -> Embedder:
    from truekeep.embed import local  # noqa: PLC0415  (numpy and onnxruntime load only when needed)

    path, model = _directory(rest)
    if name == "e5":
        return local.load_e5(path)
    if name == "sentence-transformers":
        return local.load_sentence_transformers(path)
    return local.load_fastembed(path, model or "sentence-transformers/all-MiniLM-L6-v2")
