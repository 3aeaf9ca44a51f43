"""Custody: a person takes memories out of the keep and puts them back, or lets one of them stand for several.

Every version stays in history meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from truekeep.archive import version_in
from truekeep.catalog import Catalog
from truekeep.holding import Holding
from truekeep.influence import same_claim
from truekeep.memory_rows import DELETED, FELL, MERGED, MemoryRows, Vector
from truekeep.policy import Ruling
from truekeep.rivals import Rivals
from truekeep.settlement import Settlement
from truekeep.statements import claim_in
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import item_body, item_from, memory_from
from truekeep.types import Decision, Memory

REVOKED, REWOUND = "revoked", "rewound"
Version = tuple[str, int]
"""A memory's id and which version of it."""
_ALL = -1

_REVOKED = Ruling(Decision.QUARANTINE, "source_revoked", "Its source, or something it was derived from, was revoked.")


class Custody:
    """Takes memories out and puts them back, inside the transaction of a person's decision."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        rows: MemoryRows,
        rivals: Rivals,
        settlement: Settlement,
        holding: Holding,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._rows = rows
        self._rivals = rivals
        self._settlement = settlement
        self._holding = holding
        self._clock = clock

    def delete(self, entry: Entry, sealed: Sealed, *, by: str) -> None:
        """Take out a memory that a person wants deleted."""
        memory = memory_from(sealed)
        with self._settlement.watching(entry, [memory] if sealed.verified else []):
            self._rows.remove(entry, sealed, DELETED, self._clock())
            entry.event("memory.deleted", memory=memory.id, by=by, verified=sealed.verified)

    def let_fall(self, entry: Entry, child_id: str, parent: Memory) -> str | None:
        """Take a derived memory of the same or lower standing out of use; what a person approved stands by itself."""
        sealed = self._ledger.get("memories", child_id)
        child = memory_from(sealed) if sealed is not None and sealed.verified else None
        if sealed is None or child is None or child.approval is not None or child.standing > parent.standing:
            return None
        with self._settlement.watching(entry, [child]):
            self._rows.remove(entry, sealed, FELL, self._clock())
            item = self._holding.fall(entry, child, parent.id)
        return item.id

    def stand_up(self, entry: Entry, fallen: Iterable[str], *, by: str, reason: str) -> None:
        """Put back what fell, is still gone and still waits for a person."""
        for item in fallen:
            memory = self._holding.stand_up(entry, item, by=by, reason=reason)
            if memory is not None and self._ledger.get("memories", memory.id) is None:
                with self._putting_back(entry, memory) as stored:
                    entry.event("memory.put_back", memory=stored.id, version=stored.version)

    def quarantine(self, entry: Entry, memories: Sequence[Memory], incident: str) -> list[str]:
        """Take memories out and let each wait for a person; gives the review items."""
        items = []
        for memory in memories:
            sealed = self._ledger.get("memories", memory.id)
            if sealed is not None:
                self._take_out(entry, sealed, REVOKED, incident)
                held = self._holding.put(entry, memory, _REVOKED, kind="revoked", tag=f"revoked:{incident}")
                items.append(held.id)
        return items

    def exchange(self, entry: Entry, remove: Iterable[Sealed], restore: Iterable[Version], incident: str) -> None:
        """Take some memories out and put versions from history in their place."""
        for sealed in remove:
            self._take_out(entry, sealed, REWOUND, incident)
        for wanted in restore:
            memory = self.version(wanted)
            if memory is not None and self._ledger.get("memories", memory.id) is None:
                self._put_back(entry, memory, incident)

    def merge(self, entry: Entry, made: Memory, vector: Vector | None, originals: Sequence[Sealed], why: str) -> Memory:
        """Let one memory stand for several that say the same. They go to history, with what they became part of."""
        with self._settlement.watching(entry, [made]) as related:
            # First the one that stays: a claim that nobody states for a moment would lose its rivals.
            stored = self._rows.stand_in(entry, made, vector, related)
            for sealed in originals:
                self._rows.remove(entry, sealed, MERGED, self._clock(), into=made.id)
            ids = [sealed.row.id for sealed in originals]
            entry.event("memory.merged", memory=made.id, memories=ids, incident=why)
        return stored

    def originals(self, merged: Version) -> list[Version]:
        """What a memory was merged from, if it is still there and has not been changed since."""
        memory_id, number = merged
        sealed = self._ledger.get("memories", memory_id)
        memory = memory_from(sealed) if sealed is not None and sealed.verified else None
        if memory is None or memory.version != number:
            return []
        rows = (row for parent in memory.origin.parents for row in self._ledger.tagged("history", parent, _ALL))
        versions = (version for row in rows if (version := version_in(row)) is not None)
        return [(version.memory.id, version.memory.version) for version in versions if version.into == memory_id]

    def take_apart(self, entry: Entry, memory_id: str, incident: str) -> None:
        """Put what a merged memory stands for back in its place."""
        sealed = self._ledger.get("memories", memory_id)
        if sealed is not None:
            self.exchange(entry, [sealed], self.originals((memory_id, memory_from(sealed).version)), incident)

    def version(self, wanted: Version) -> Memory | None:
        """A version from history, if it is there and verified."""
        memory_id, number = wanted
        sealed = self._ledger.get("history", f"{memory_id}.{number}")
        if sealed is None or not sealed.verified:
            return None
        return replace(memory_from(sealed), id=memory_id, seq=0)

    def stating_the_same(self, memory: Memory) -> list[Memory]:
        """The other memories that state just the same claim."""
        claim = claim_in(memory)
        return [
            other
            for other in self._rivals.related(memory)
            if other.id != memory.id and same_claim(claim_in(other), claim)
        ]

    def close_items(self, entry: Entry, items: Iterable[str]) -> None:
        """Close review items that an undone incident had opened."""
        for item_id in items:
            sealed = self._ledger.get("queue", item_id)
            item = item_from(sealed) if sealed else None
            if sealed is not None and item is not None and item.state == "open":
                entry.replace("queue", sealed.row, item_body(replace(item, state="expired")))

    def _take_out(self, entry: Entry, sealed: Sealed, why: str, incident: str) -> None:
        memory = memory_from(sealed)
        with self._settlement.watching(entry, [memory] if sealed.verified else []):
            self._rows.remove(entry, sealed, why, self._clock())
            entry.event(f"memory.{why}", memory=memory.id, version=memory.version, incident=incident)

    def _put_back(self, entry: Entry, memory: Memory, incident: str) -> None:
        kept = self._ledger.get("history", f"{memory.id}.{memory.version}")
        # The seal it had: by it a later rewind knows that this is the memory that stood elsewhere before.
        was = json.loads(kept.row.body).get("mac") if kept is not None else None
        with self._putting_back(entry, memory):
            entry.event("memory.restored", memory=memory.id, version=memory.version, was=was, incident=incident)

    @contextmanager
    def _putting_back(self, entry: Entry, memory: Memory) -> Iterator[Memory]:
        """Put a memory back; the block writes why."""
        ((_, vector),) = self._catalog.vectors([memory])
        with self._settlement.watching(entry, [memory]) as related:
            yield self._rows.take_from_history(entry, memory, vector, related)
