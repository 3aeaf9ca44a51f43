"""Custody: a person takes memories out of the keep and puts them back, or lets one of them stand for several.

Every version stays in history meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.claims.contradictions import Contradictions, claim_in
from truekeep.quarantine.queue import WAITING
from truekeep.records.rows import (
    DELETED,
    FELL,
    FORGOTTEN,
    HELD,
    MERGED,
    REVOKED,
    REWOUND,
    MemoryRows,
    Vector,
    version_in,
)
from truekeep.stores.records import item_body, item_from, memory_from, new_id
from truekeep.trust.influence import same_claim
from truekeep.trust.policy import Ruling
from truekeep.types import Decision, Finding, Memory

if TYPE_CHECKING:
    from truekeep.claims.may_act_now import Transitions
    from truekeep.quarantine.queue import Queue
    from truekeep.records.catalog import Catalog
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

Version = tuple[str, int]
"""A memory's id and which version of it."""
_ALL = -1

_REVOKED = Ruling(Decision.QUARANTINE, "source_revoked", "Its source, or something it was derived from, was revoked.")


class Removal:
    """Takes memories out and puts them back, inside the transaction of a person's decision."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        rows: MemoryRows,
        contradictions: Contradictions,
        transitions: Transitions,
        queue: Queue,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._rows = rows
        self._contradictions = contradictions
        self._transitions = transitions
        self._queue = queue
        self._clock = clock

    def delete(self, entry: Entry, sealed: Sealed, *, by: str) -> None:
        """Take out a memory that a person wants deleted."""
        memory = memory_from(sealed)
        with self._transitions.watching(entry, [memory] if sealed.verified else []):
            self._rows.remove(entry, sealed, DELETED, self._clock())
            entry.event("memory.deleted", memory=memory.id, by=by, verified=sealed.verified)

    def let_fall(self, entry: Entry, child_id: str, parent: Memory) -> str | None:
        """Take a derived memory of the same or lower standing out of use; what a person approved stands by itself."""
        sealed = self._ledger.get("memories", child_id)
        child = memory_from(sealed) if sealed is not None and sealed.verified else None
        if sealed is None or child is None or child.approval is not None or child.standing > parent.standing:
            return None
        with self._transitions.watching(entry, [child]):
            self._rows.remove(entry, sealed, FELL, self._clock())
            item = self._queue.fall(entry, child, parent.id)
        return item.id

    def stand_up(self, entry: Entry, fallen: Iterable[str], *, by: str, reason: str) -> None:
        """Put back what fell, is still gone and still waits for a person."""
        for item in fallen:
            memory = self._queue.stand_up(entry, item, by=by, reason=reason)
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
                held = self._queue.put(entry, memory, _REVOKED, kind="revoked", tag=f"revoked:{incident}")
                items.append(held.id)
        return items

    def hold(
        self, entry: Entry, memory: Memory, taken: Sequence[Sealed], ruling: Ruling, findings: Sequence[Finding] = ()
    ) -> str:
        """Let a memory wait for the owner, and take those out that it stands for; gives the review item."""
        with self._transitions.watching(entry, [memory_from(sealed) for sealed in taken]):
            item = new_id("rev")
            for sealed in taken:
                self._rows.remove(entry, sealed, HELD, self._clock(), into=item)
            self._queue.put(entry, memory, ruling, kind="memory", tag=WAITING, findings=findings, item_id=item)
        return item

    def exchange(self, entry: Entry, remove: Iterable[Sealed], restore: Iterable[Version], incident: str) -> None:
        """Take some memories out and put versions from history in their place."""
        for sealed in remove:
            self._take_out(entry, sealed, REWOUND, incident)
        for wanted in restore:
            memory = self.version(wanted)
            if memory is not None and self._ledger.get("memories", memory.id) is None:
                self._put_back(entry, memory, incident)

    def drop_gists(self, entry: Entry, prompt: str) -> list[Version]:
        """Take the gists that a prompt made from the memories they stand beside; gives the versions that had them."""
        found = (memory_from(sealed) for sealed in self._ledger.all("memories") if sealed.verified)
        read = [memory for memory in found if memory.gist is not None and memory.gist.prompt == prompt]
        for memory in read:
            self._change(entry, memory, replace(memory, gist=None))
        return [(memory.id, memory.version) for memory in read]

    def give_gists(self, entry: Entry, had: Iterable[Version]) -> None:
        """Put dropped gists back beside memories that have none by now."""
        for wanted in had:
            before, sealed = self.version(wanted), self._ledger.get("memories", wanted[0])
            memory = memory_from(sealed) if sealed is not None and sealed.verified else None
            if before is not None and memory is not None and memory.gist is None and memory.text == before.text:
                self._change(entry, memory, replace(memory, gist=before.gist))

    def _change(self, entry: Entry, memory: Memory, changed: Memory) -> None:
        ((_, vector),) = self._catalog.vectors([changed])
        with self._transitions.watching(entry, [memory, changed]) as related:
            self._rows.replace(entry, memory, changed, vector, related)
            entry.event("memory.gist_changed", memory=memory.id)

    def divide(self, entry: Entry, sealed: Sealed, pieces: Sequence[Memory], why: str) -> list[Memory]:
        """Take a memory out for good reasons of its owner's, and let parts of it stand in its place."""
        memory, vectors = memory_from(sealed), dict(self._catalog.vectors(pieces))
        with self._transitions.watching(entry, [memory, *pieces]) as related:
            self._rows.remove(entry, sealed, why, self._clock())
            others = [other for other in related if other.id != memory.id]
            stored = [self._rows.stand_in(entry, piece, vectors[place], others) for place, piece in enumerate(pieces)]
            entry.event("memory.divided", memory=memory.id, version=memory.version, why=why, pieces=len(stored))
        return stored

    def put_back(self, entry: Entry, wanted: Iterable[Version], pieces: Iterable[str], incident: str) -> None:
        """Undo a division: the pieces go, and what they were of returns as it was."""
        for piece in pieces:
            sealed = self._ledger.get("memories", piece)
            if sealed is not None and sealed.verified:
                self._take_out(entry, sealed, REWOUND, incident)
        for version in wanted:
            memory = self.version(version, forgotten=True)
            if memory is not None and self._ledger.get("memories", memory.id) is None:
                self._put_back(entry, memory, incident)

    def merge(self, entry: Entry, made: Memory, vector: Vector | None, originals: Sequence[Sealed], why: str) -> Memory:
        """Let one memory stand for several that say the same. They go to history, with what they became part of."""
        with self._transitions.watching(entry, [made]) as related:
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

    def version(self, wanted: Version, *, forgotten: bool = False) -> Memory | None:
        """A version from history, if it is there and verified; what was ``forgotten`` only for whoever undoes that."""
        memory_id, number = wanted
        sealed = self._ledger.get("history", f"{memory_id}.{number}")
        found = version_in(sealed) if sealed is not None else None
        if sealed is None or found is None or (found.why == FORGOTTEN and not forgotten):
            return None
        return replace(memory_from(sealed), id=memory_id, seq=0)

    def stating_the_same(self, memory: Memory) -> list[Memory]:
        """The other memories that state just the same claim."""
        claim = claim_in(memory)
        return [
            other
            for other in self._contradictions.related(memory)
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
        with self._transitions.watching(entry, [memory] if sealed.verified else []):
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
        with self._transitions.watching(entry, [memory]) as related:
            yield self._rows.take_from_history(entry, memory, vector, related)
