"""What an embedder is, what it may raise, what texts it is given, and the checks of its files and of its vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from truekeep.errors import InputError, TruekeepError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Kind = Literal["query", "passage"]

MAX_EMBEDDED_CHARACTERS = 16_000
"""Longer texts are cut before they reach a tokenizer; every model here reads far fewer."""


class EmbedderError(TruekeepError):
    """An embedder that cannot be used or gave an unusable answer; recall goes on with keywords alone."""

    code = "embedder_failed"
    default_hint = "Recall still works by keywords; 'truekeep doctor' says what is wrong with the embedder."


class UnknownEmbedder(InputError):
    """A specification that names no embedder."""

    code = "unknown_embedder"
    default_hint = "Use default, minilm, none, e5:/dir, fastembed:/dir, sentence-transformers:/dir or openai:https://host/v1#model."


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. Vectors of different ``model_id`` are never compared."""

    @property
    def model_id(self) -> str:
        """Names the model and its version; stored beside every vector."""
        ...

    @property
    def dim(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One L2-normalised float32 row per text; raises ``EmbedderError`` and nothing else."""
        ...


def embeddable(texts: Sequence[str]) -> list[str]:
    """The texts as any tokenizer can take them: cut to a cap, lone surrogates replaced, nothing empty."""
    return [_clean(text) for text in texts]


def _clean(text: str) -> str:
    cut = text[:MAX_EMBEDDED_CHARACTERS].replace("\x00", " ")
    return cut.encode("utf-8", "replace").decode("utf-8") or " "


def pinned_bytes(path: Path, sha256: str, hint: str) -> bytes:
    """The file's bytes if they have that hash. What was hashed is what is used: the file is read once."""
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise EmbedderError(f"The embedder's file {path.name} cannot be read.") from fault
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EmbedderError(
            f"The embedder's file {path.name} is not the pinned one and was not loaded.",
            code="embedder_hash_mismatch",
            hint=hint,
        )
    return data


def unit_rows(raw: ArrayLike, *, count: int, dim: int) -> NDArray[np.float32]:
    """Check an embedder's answer and scale its rows to length one.

    NaN, infinities, a missing row or another dimension raise, because one such row would
    silently poison every later comparison. An all-zero row stays zero: it is similar to nothing.
    """
    import numpy as np  # noqa: PLC0415 - numpy loads only when there is a vector

    try:
        rows = np.asarray(raw, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise EmbedderError("The embedder's answer is not a matrix of numbers.") from None
    if rows.shape != (count, dim):
        raise EmbedderError(f"The embedder gave shape {rows.shape} where {(count, dim)} was due.")
    if not np.isfinite(rows).all():
        raise EmbedderError("The embedder gave a vector with NaN or infinite members.")
    # Scaling by the largest member first keeps the squares of huge finite members from overflowing.
    peaks = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(rows, peaks, out=np.zeros_like(rows), where=peaks > 0)
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    units: NDArray[np.float32] = np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
    return units
