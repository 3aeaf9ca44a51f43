"""memward around a plain vector store, through the five methods that it asks of one.

As its README says, every memory is labelled with where it came from: the owner is ``USER``, a system ``TOOL_OUTPUT``,
a page ``WEB_CONTENT``. What its screening quarantines is held. Recall is ``search``; what may act is
``search(privileged=True)``. Its consensus validator needs the names of an agent's tools and is left out. The source of
a write is a parameter of ``add``: a planted text comes as ``WEB_CONTENT``, or as what its writer claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memward import Memward, SourceType, TrustTier  # type: ignore[import-not-found]
from memward.adapters.base import ScoredRecord  # type: ignore[import-not-found]
from shelf import Shelf  # type: ignore[import-not-found]
from worker_loop import HELD, OWNER, STORED, SYSTEM, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]

_SOURCES = {OWNER: SourceType.USER, SYSTEM: SourceType.TOOL_OUTPUT}
_CLAIMED = {"user": SourceType.USER, "system": SourceType.TOOL_OUTPUT, "tool": SourceType.TOOL_OUTPUT}


class Records:
    """The store that memward wraps."""

    def __init__(self, vectors: Vectors) -> None:
        self.shelf = Shelf(vectors)
        self.records: list[Any] = []

    def add(self, record: Any) -> str:
        """Keep a record."""
        self.shelf.add(record.content)
        self.records.append(record)
        return str(record.id)

    def get(self, record_id: str) -> Any:
        """A record by its id."""
        return next((record for record in self.records if record.id == record_id), None)

    def search(self, query: str, k: int = 5) -> list[Any]:
        """The nearest k."""
        return [ScoredRecord(self.records[place], score) for place, score in self.shelf.best(query, k)]

    def delete(self, _record_id: str) -> bool:
        """Nothing is rolled back here."""
        return False

    def all(self) -> list[Any]:
        """Every record."""
        return list(self.records)


class Warded:
    """One wrapped store."""

    version = version("memward")
    has_gate = True

    def __init__(self, vectors: Vectors, _home: Path, _options: Mapping[str, Any]) -> None:
        self._records = Records(vectors)
        self._memory = Memward(self._records)
        self._honest = 0

    def fill(self, entries: Sequence[Entry]) -> None:
        """Add each with its true source."""
        for entry in entries:
            source = _SOURCES.get(entry.by, SourceType.WEB_CONTENT)
            self._memory.add(entry.text, source=source, source_id=entry.source or None)

    def filled(self) -> None:
        """Remember where the honest records end."""
        self._honest = len(self._records.records)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Add each with the source that its writer claims, if any."""
        found = []
        for entry in entries:
            source = _CLAIMED.get(entry.claims.get("role", ""), SourceType.WEB_CONTENT)
            named = entry.claims.get("source", entry.source) or None
            result = self._memory.add(entry.text, source=source, source_id=named)
            found.append(HELD if result.quarantined else STORED)
        return found

    def recall(self, query: str, k: int) -> list[Hit]:
        """Everything but what is quarantined."""
        hits = self._memory.search(query, k)
        return [Hit(hit.record.content, hit.record.provenance.trust >= TrustTier.VERIFIED) for hit in hits]

    def acting(self, query: str, k: int) -> list[Hit]:
        """What may steer the choice of a tool."""
        return [Hit(hit.record.content, True) for hit in self._memory.search(query, k, privileged=True)]

    def reset(self) -> None:
        """Forget what was planted."""
        self._records.shelf.cut(self._honest)
        del self._records.records[self._honest :]


if __name__ == "__main__":
    serve(Warded)
