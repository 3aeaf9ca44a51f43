"""A plain vector store: no gate and no guard, so everything may act. What the other workers are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shelf import Shelf  # type: ignore[import-not-found]
from worker_loop import STORED, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]


class Plain:
    """Texts and cosine."""

    version = "1"

    def __init__(self, vectors: Vectors, _home: Path, _options: Mapping[str, Any]) -> None:
        self._shelf = Shelf(vectors)
        self._honest = 0

    def fill(self, entries: Sequence[Entry]) -> None:
        """Store every text."""
        for entry in entries:
            self._shelf.add(entry.text)

    def filled(self) -> None:
        """Remember where the honest texts end."""
        self._honest = len(self._shelf)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Store every text."""
        self.fill(entries)
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The nearest k."""
        return [Hit(self._shelf.texts[place], True) for place, _score in self._shelf.best(query, k)]

    acting = recall

    def reset(self) -> None:
        """Forget what was planted."""
        self._shelf.cut(self._honest)


if __name__ == "__main__":
    serve(Plain)
