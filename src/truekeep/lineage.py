"""Lineage: which memories were derived from which, both ways."""

from __future__ import annotations

import json
from collections import deque

from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.types import Memory

_MOST_DESCENDANTS = 10_000


class Lineage:
    """What was made of one keep's memories."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def file(self, entry: Entry, memory: Memory) -> None:
        """Write down a memory's parents, inside the writer's transaction."""
        for number, parent in enumerate(dict.fromkeys(memory.origin.parents)):
            row_id = f"{memory.id}<{number}"
            known = self._ledger.get("derived", row_id)
            if known is None:
                entry.put("derived", row_id, {"v": 1, "memory": memory.id}, tag=parent)
            else:
                entry.replace("derived", known.row, {"v": 1, "memory": memory.id}, tag=parent)

    def withdraw(self, entry: Entry, memory: Memory) -> None:
        """Forget a memory's parents, before it is changed or taken away."""
        for number in range(len(dict.fromkeys(memory.origin.parents))):
            if (row := self._ledger.get("derived", f"{memory.id}<{number}")) is not None:
                entry.remove("derived", row.row)

    def children(self, memory_id: str) -> list[str]:
        """The memories that name this one as a parent."""
        return [json.loads(sealed.row.body)["memory"] for sealed in self._ledger.tagged("derived", memory_id, limit=-1)]

    def descendants(self, memory_id: str) -> list[str]:
        """All that was made of a memory, and of that again, nearest first."""
        if self._ledger.is_empty("derived"):
            return []
        found: dict[str, None] = {}
        waiting = deque([memory_id])
        while waiting and len(found) < _MOST_DESCENDANTS:
            fresh = [child for child in self.children(waiting.popleft()) if child not in found and child != memory_id]
            found |= dict.fromkeys(fresh)
            waiting.extend(fresh)
        return list(found)
