"""A store with its gate broken on purpose: the measure has to see that its poison acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from truekeep.redteam.defences.store import Entry, Hit, Store


class OpenGate:
    """Another store, whose every recalled memory may act."""

    def __init__(self, store: Store) -> None:
        self.name = f"{store.name} without its gate"
        self.version = store.version
        self._store = store

    def fill(self, entries: Sequence[Entry]) -> None:
        """As the store does."""
        self._store.fill(entries)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """As the store does."""
        return self._store.plant(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """As the store does, and all of it acts."""
        return [replace(hit, may_act=True) for hit in self._store.recall(query, k)]

    def acting(self, query: str, k: int) -> list[Hit]:
        """Whatever comes up."""
        return self.recall(query, k)

    def reset(self) -> None:
        """As the store does."""
        self._store.reset()

    def close(self) -> None:
        """As the store does."""
        self._store.close()
