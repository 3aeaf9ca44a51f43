"""langgraph's in-memory store with its vector index: what an agent built with it remembers. It has no gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore
from worker_loop import STORED, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]

_SPACE = ("owner", "memories")


class Graph:
    """One namespace."""

    version = version("langgraph")
    has_gate = False

    def __init__(self, vectors: Vectors, _home: Path, _options: Mapping[str, Any]) -> None:
        embed = lambda texts: [vectors(text) for text in texts]  # noqa: E731 - the form that the index asks for
        self._store = InMemoryStore(index={"dims": vectors.dim, "embed": embed, "fields": ["text"]})
        self._number = 0
        self._honest = 0

    def fill(self, entries: Sequence[Entry]) -> None:
        """Put each under a key of its own; one by one, as a batch in which a text occurs twice is refused."""
        for entry in entries:
            self._store.put(_SPACE, str(self._number), {"text": entry.text, "source": entry.source})
            self._number += 1

    def filled(self) -> None:
        """Remember where the honest memories end."""
        self._honest = self._number

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """The same way in."""
        self.fill(entries)
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The nearest k."""
        return [Hit(item.value["text"], True) for item in self._store.search(_SPACE, query=query, limit=k)]

    acting = recall

    def reset(self) -> None:
        """Delete what was planted."""
        for number in range(self._honest, self._number):
            self._store.delete(_SPACE, str(number))
        self._number = self._honest


if __name__ == "__main__":
    serve(Graph)
