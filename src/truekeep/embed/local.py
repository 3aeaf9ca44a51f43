"""Embedders from a directory that the user has: e5 and sentence-transformers folders, and fastembed's.

Nothing here fetches anything. The hash of the weights is part of the ``model_id``, so vectors
of two different files are never compared even if the directories have the same name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truekeep.embed.base import EmbedderError, Kind, embeddable, unit_rows
from truekeep.embed.minilm import pinned_tokenizer
from truekeep.embed.onnx import Encoder, OnnxEmbedder

_ONNX_FILES = ("onnx/model.onnx", "model.onnx", "e5-small.onnx")
_MAX_CONFIG_BYTES = 1_000_000
"""A model's own files are read before anything is known about them."""


def load_e5(directory: Path, *, threads: int = 1) -> OnnxEmbedder:
    """An e5 folder with an ONNX file. Without a tokenizer of its own it is taken for an English one (BERT's words)."""
    model = _onnx_file(directory)
    own = directory / "tokenizer.json"
    tokenizer = _read(own) if own.is_file() else pinned_tokenizer()
    encoder = Encoder(
        model_id=f"e5:{_fingerprint(model)}",
        dim=0,
        max_tokens=512,
        prefixes={"query": "query: ", "passage": "passage: "},
    )
    return OnnxEmbedder(encoder, str(model), tokenizer, threads=threads)


def load_sentence_transformers(directory: Path, *, threads: int = 1) -> OnnxEmbedder | LibraryEmbedder:
    """A sentence-transformers folder: run from its ONNX file if it has one, else by the library."""
    if not _has_onnx(directory):
        return _library(directory)
    model = _onnx_file(directory)
    settings = _json(directory / "sentence_bert_config.json")
    encoder = Encoder(
        model_id=f"sentence-transformers:{_fingerprint(model)}",
        dim=0,
        max_tokens=_whole_number(settings.get("max_seq_length"), 256),
        pooling=_pooling(_json(directory / "1_Pooling" / "config.json")),
    )
    return OnnxEmbedder(encoder, str(model), _read(directory / "tokenizer.json"), threads=threads)


def load_fastembed(directory: Path, name: str) -> LibraryEmbedder:
    """A model of fastembed's list, from a directory with its files; fastembed fetches nothing then."""
    try:
        library = import_module("fastembed")
    except ImportError as fault:
        raise EmbedderError("fastembed is not installed.", hint="pip install fastembed") from fault
    try:
        model = library.TextEmbedding(name, specific_model_path=str(directory), local_files_only=True, threads=1)
    except Exception as fault:
        raise EmbedderError("fastembed cannot load the model from that directory.") from fault

    def run(texts: list[str], kind: Kind) -> list[NDArray[np.float32]]:
        return list(model.query_embed(texts) if kind == "query" else model.passage_embed(texts))

    return LibraryEmbedder(f"fastembed:{name}:{_fingerprint_any(directory)}", run)


class LibraryEmbedder:
    """Another library's embedder behind this protocol: checked, normalised, its errors translated."""

    def __init__(self, model_id: str, run: Any) -> None:
        self._run = run
        self.model_id = model_id
        self.dim = len(self._rows(["dimension"], "passage")[0])

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One L2-normalised row per text."""
        rows = self._rows(embeddable(texts), kind) if texts else np.zeros((0, self.dim), dtype=np.float32)
        return unit_rows(rows, count=len(texts), dim=self.dim)

    def _rows(self, texts: list[str], kind: Kind) -> Any:
        try:
            return self._run(texts, kind)
        except Exception as fault:
            raise EmbedderError(f"The embedder {self.model_id} failed ({type(fault).__name__}).") from fault


def _library(directory: Path) -> LibraryEmbedder:
    try:
        library = import_module("sentence_transformers")
    except ImportError as fault:
        raise EmbedderError(
            "The folder has no ONNX file, and sentence-transformers is not installed.",
            hint="pip install sentence-transformers, or export the model to onnx/model.onnx",
        ) from fault
    try:
        model = library.SentenceTransformer(str(directory), local_files_only=True, trust_remote_code=False)
    except Exception as fault:
        raise EmbedderError("sentence-transformers cannot load the model from that directory.") from fault
    return LibraryEmbedder(
        f"sentence-transformers:{_fingerprint_any(directory)}", lambda texts, _kind: model.encode(texts)
    )


def _has_onnx(directory: Path) -> bool:
    return any((directory / name).is_file() for name in _ONNX_FILES)


def _onnx_file(directory: Path) -> Path:
    found = [directory / name for name in _ONNX_FILES if (directory / name).is_file()]
    found = found or sorted(directory.glob("*.onnx"))
    if not found:
        raise EmbedderError("The embedder's directory has no ONNX file.", hint=f"Expected one of {_ONNX_FILES}.")
    return found[0]


def _fingerprint(model: Path) -> str:
    """The first half of a SHA-256 over the weights, those kept in a file beside the graph included."""
    digest = hashlib.sha256()
    for part in (model, model.with_name(model.name + ".data"), model.with_name(model.name + "_data")):
        if part.is_file():
            with part.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:32]


def _fingerprint_any(directory: Path) -> str:
    weights = [*directory.glob("**/*.onnx"), *directory.glob("**/*.safetensors"), *directory.glob("**/*.bin")]
    if not weights:
        raise EmbedderError("The embedder's directory has no weights.")
    digest = hashlib.sha256("".join(_fingerprint(path) for path in sorted(weights)).encode())
    return digest.hexdigest()[:32]


def _pooling(settings: dict[str, Any]) -> str:
    if settings.get("pooling_mode_cls_token"):
        return "first"
    if settings.get("pooling_mode_mean_tokens", True):
        return "mean"
    raise EmbedderError("The model pools its tokens in a way that is not supported; mean and first token are.")


def _whole_number(value: object, default: int) -> int:
    return value if isinstance(value, int) and 8 <= value <= 8192 else default


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    if path.stat().st_size > _MAX_CONFIG_BYTES:
        raise EmbedderError(f"The embedder's file {path.name} is too large.")
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise EmbedderError(f"The embedder's file {path.name} cannot be read.") from fault
    return loaded if isinstance(loaded, dict) else {}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as fault:
        raise EmbedderError(f"The embedder's file {path.name} cannot be read.") from fault
