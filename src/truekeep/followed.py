"""Rows of one table as values: read once, then followed from write to write, whichever process wrote.

What is kept is only as good as its rows were when they were read and verified; it finds and counts, and whatever is
served is read from its row again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from truekeep.stores.audit import Touched
from truekeep.stores.ledger import Ledger, Sealed

Value = TypeVar("Value")


class Followed(Generic[Value]):
    """The verified rows of one table, by place. A row that ``read`` makes nothing of is left out."""

    def __init__(self, ledger: Ledger, table: str, read: Callable[[Sealed], Value | None]) -> None:
        self._ledger = ledger
        self._table = table
        self._read = read
        self._lock = threading.RLock()
        self._known: dict[int, Value] | None = None
        self._dirty: set[int] = set()
        self.revision = 0
        """Another number after every change."""
        ledger.watch(self._note)

    def now(self) -> Mapping[int, Value]:
        """The values in order of place. A transaction that has changed the table sees what it wrote."""
        with self._ledger.reading(), self._lock:
            if self._ledger.is_changing(self._table):
                return self._values(self._ledger.all(self._table))
            if self._known is None:
                self._known = self._values(self._ledger.all(self._table))
                self.revision += 1
            elif self._dirty:
                self._known = self._brought_up(self._known)
                self.revision += 1
            self._dirty = set()
            return self._known

    def is_current(self) -> bool:
        """Whether ``now`` has nothing to read; not while a transaction changes the table."""
        return self._known is not None and not self._dirty and not self._ledger.is_changing(self._table)

    def _brought_up(self, known: Mapping[int, Value]) -> dict[int, Value]:
        rows = self._ledger.at(self._table, sorted(self._dirty))
        kept = {place: value for place, value in known.items() if place not in self._dirty}
        fresh = self._values(rows.values())
        if not fresh or not kept or min(fresh) > next(reversed(kept)):
            return {**kept, **fresh}
        return dict(sorted({**kept, **fresh}.items()))

    def _values(self, rows: Iterable[Sealed]) -> dict[int, Value]:
        read = ((sealed.row.seq, self._read(sealed)) for sealed in rows if sealed.verified)
        return {place: value for place, value in read if value is not None}

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._known is not None:
            with self._lock:
                self._dirty |= {seq for table, seq, _ in changed if table == self._table}
