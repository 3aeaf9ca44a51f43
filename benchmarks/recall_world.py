"""A keep full of made-up memories with made-up vectors, for figures in which embedding must not count."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall_peers import DIM, made_up
from truekeep import Keep

MODEL = "all-MiniLM-L6-v2-onnx-int8"
BATCH = 500
Floats = NDArray[np.float32]


class Table:
    """An embedder that looks vectors up, so that embedding costs nothing."""

    model_id, dim = MODEL, DIM

    def __init__(self, rows: dict[str, Any]) -> None:
        self._rows = rows
        self._nothing = np.zeros(DIM, dtype=np.float32)

    def embed(self, texts: Sequence[str], _kind: str) -> Floats:
        return np.array([self._rows.get(text, self._nothing) for text in texts], dtype=np.float32)


@dataclass(frozen=True)
class World:
    """The texts with their vectors, further ones to add, and questions with theirs."""

    home: Path
    texts: list[str]
    vectors: Floats
    extra: list[str]
    questions: list[str]
    asked: Floats
    table: Table

    @classmethod
    def read(cls, home: Path, size: int) -> World:
        data = home / "data-made-up"
        texts = json.loads((data / "texts.json").read_text())
        vectors = np.load(data / "vectors.npy")
        questions = json.loads((data / "questions.json").read_text())
        asked = np.load(data / "question_vectors.npy")
        table = Table(dict(zip([*texts, *questions], [*vectors, *asked], strict=True)))
        return cls(home, texts[:size], vectors[:size], texts[size:], questions, asked, table)

    def open(self) -> Keep:
        """The keep, as its owner would open it."""
        return Keep.open("bench", home=self.home, embedder=lambda: self.table)


@contextmanager
def made(size: int) -> Iterator[World]:
    """A keep of that size, in a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        made_up(home / "data-made-up", size)
        world = World.read(home, size)
        with world.open() as keep:
            for first in range(0, size, BATCH):
                keep.remember_many(world.texts[first : first + BATCH], via="user")
        yield world
