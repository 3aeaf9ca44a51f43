"""inspeximus in its hybrid mode, with its vectors kept in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contest import Table, run, within  # type: ignore[import-not-found]
from inspeximus import Inspeximus  # type: ignore[import-not-found]


class Store:
    """One store file."""

    def __init__(self, home: Path, table: Table, seconds: float) -> None:
        self.memory = Inspeximus(str(home / "memory.db"), embed=table, embed_id="table", persist_vectors=True)
        self.seconds = seconds

    def fill(self, texts: Any, _vectors: Any) -> None:
        check = within(self.seconds, texts)
        for text in texts:
            self.memory.remember(text)
            check()

    def add(self, text: str, _vector: Any) -> None:
        self.memory.remember(text)

    def recall(self, text: str, _vector: Any, k: int) -> object:
        return self.memory.recall(text, k=k, mode="hybrid")

    def close(self) -> None:
        self.memory.flush()


run("inspeximus", "inspeximus", Store, "hybrid")
