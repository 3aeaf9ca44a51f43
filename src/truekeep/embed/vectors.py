"""The one check that every vector passes before anyone relies on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truekeep.embed.base import EmbedderError


def unit_rows(raw: ArrayLike, *, count: int, dim: int) -> NDArray[np.float32]:
    """Check an embedder's answer and scale its rows to length one.

    NaN, infinities, a missing row or another dimension raise, because one such row would
    silently poison every later comparison. An all-zero row stays zero: it is similar to nothing.
    """
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
