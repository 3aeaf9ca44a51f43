"""agora-mnemo in its hybrid mode. It is filled in memory and bound to its file then: adds one by one rewrite it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contest import Table, run  # type: ignore[import-not-found]
from mnemo import Mnemo  # type: ignore[import-not-found]


class Store:
    """One store file."""

    def __init__(self, home: Path, table: Table, _seconds: float) -> None:
        self.path = home / "memory.json"
        self.memory = Mnemo(str(self.path), embed=table)

    def fill(self, texts: Any, _vectors: Any) -> None:
        self.memory.path = None
        for text in texts:
            self.memory.remember(text)
        self.memory.path = self.path
        self.memory._save(force=True)

    def add(self, text: str, _vector: Any) -> None:
        self.memory.remember(text)

    def recall(self, text: str, _vector: Any, k: int) -> object:
        return self.memory.recall(text, k=k, mode="hybrid")

    def close(self) -> None:
        self.memory.flush()


run("agora-mnemo", "agora-mnemo", Store, "hybrid; vectors not kept in its file")
