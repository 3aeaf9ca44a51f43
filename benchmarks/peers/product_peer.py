"""The bare numpy product: what a vector search costs at the very least, with nothing around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from contest import Table, run  # type: ignore[import-not-found]


class Product:
    """A matrix, and nothing durable."""

    def __init__(self, home: Path, _table: Table, _seconds: float) -> None:
        self.path = home / "matrix.npy"
        self.matrix = np.load(self.path) if self.path.exists() else None

    def fill(self, _texts: Any, vectors: Any) -> None:
        self.matrix = np.ascontiguousarray(vectors)
        np.save(self.path, self.matrix)

    def add(self, _text: str, _vector: Any) -> None:
        """A matrix has no durable add; the figure is left out."""

    def recall(self, _text: str, vector: Any, k: int) -> object:
        scores = self.matrix @ vector
        return np.argpartition(scores, len(scores) - k)[-k:]

    def close(self) -> None:
        """Nothing to close."""


run("bare numpy product", "numpy", Product, "no store at all")
