"""Entries of another program's store: what this keep wrote down about each, and what a reader may see of one.

The store is not ours: whoever can write to it changes an entry as they like. So a row here says what was written
through us (a keyed digest of the whole value) and which memory the gate made of it. An entry whose digest is the row's
has the memory's origin; any other is hearsay, and no row raises anything above what its memory may do.

A row is written before the store is (``pending``), and settled after. Killed in between, the row holds all that is
needed to finish.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, UnknownId
from truekeep.stores.records import item_from, memory_from, new_id
from truekeep.types import Memory, Origin, Standing, utc_text

if TYPE_CHECKING:
    from truekeep.read.audience import Audience
    from truekeep.read.reader import RecordReader, Shown
    from truekeep.stores.ledger import Ledger

_TABLE, _COUNTS, _UNDO = "entries", "counts", "undo"
MOST_PENDING = 400_000
"""Characters of one value that waits; a vector of some thousand numbers fits beside a long text."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry is: the store's name, a namespace in it and a key."""

    store: str
    namespace: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A write, or a deletion, that the store has not confirmed."""

    digest: str
    """Of the new value; nothing for a deletion."""
    value: Any = None
    extra: Any = None
    """What the store needs beside the value: a vector, a life span."""
    text: str = ""
    via: str = ""
    session: str | None = None
    request: str = ""
    """The name under which the gate was asked, so that asking again is no second memory."""
    item: str | None = None
    """The review item, where the write waits for a person."""


@dataclass(frozen=True, slots=True)
class EntryRow:
    """What is known of one place: what was last written there through us, and what is on its way."""

    place: Place
    digest: str = ""
    memory: str | None = None
    pending: PendingWrite | None = None

    @property
    def is_held(self) -> bool:
        """Whether the write waits for a person."""
        return self.pending is not None and self.pending.item is not None


@dataclass(frozen=True, slots=True)
class StoreTally:
    """What a wrapped store saw: how often what was done, and for which reasons."""

    store: str
    mode: str
    since: str
    counts: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON members."""
        return {
            "store": self.store,
            "mode": self.mode,
            "since": self.since,
            "counts": dict(self.counts),
            "reasons": dict(self.reasons),
        }


class ForeignEntries:
    """The rows of one keep about entries in other stores."""

    def __init__(self, ledger: Ledger, reader: RecordReader, audience: Audience, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._reader = reader
        self._audience = audience
        self._clock = clock

    def digest(self, value: Any) -> str:
        """The keyed digest of a whole value; without the key nobody makes another value with it."""
        return self._ledger.digest("entry", json.dumps(value, sort_keys=True, ensure_ascii=True, default=str))

    def get(self, place: Place) -> EntryRow | None:
        """What is known of a place. A row that was altered is no row."""
        sealed = self._ledger.get(_TABLE, self._name(place))
        return _row(json.loads(sealed.row.body)) if sealed is not None and sealed.verified else None

    def all(self, store: str) -> list[EntryRow]:
        """Every row about a store, in the order in which they were first written."""
        found = (one for one in self._ledger.all(_TABLE) if one.verified and one.row.tag == _tag(store))
        return [_row(json.loads(sealed.row.body)) for sealed in found]

    def put(self, rows: Iterable[EntryRow], gone: Iterable[Place] = (), *, kind: str = "entries.noted") -> None:
        """Write rows and take others away, in one transaction."""
        written, removed = list(rows), list(gone)
        bodies = [_body(row) for row in written]
        if any(len(json.dumps(body)) > MOST_PENDING for body in bodies):
            raise InvalidRequest("An entry is larger than what the keep holds for it.", code="entry_too_large")
        with self._ledger.writing() as entry:
            for row, body in zip(written, bodies, strict=True):
                entry.set(_TABLE, self._name(row.place), body, _tag(row.place.store))
            taken = [self._ledger.get(_TABLE, self._name(place)) for place in removed]
            for sealed in taken:
                if sealed is not None:
                    entry.remove(_TABLE, sealed.row)
            if written or any(taken):
                entry.event(kind, written=len(written), removed=len(removed))

    def decided(self, item_id: str) -> tuple[str, Memory | None]:
        """What became of a review item (``open``, ``approved`` …), and the memory that an approval made."""
        sealed = self._ledger.get("queue", item_id)
        item = item_from(sealed) if sealed is not None else None
        if item is None:
            return "gone", None
        made = item.effects.made if item.effects is not None else None
        stored = self._ledger.get("memories", made[0]) if made is not None else None
        return item.state, memory_from(stored) if stored is not None and stored.verified else None

    def shown(self, row: EntryRow | None, value: Any, text: str, whom: str | None = None) -> tuple[Shown, bool]:
        """What a reader may see of an entry, and whether it is just what was written through us.

        Whatever is not, was withdrawn, or says something else than its memory does by now, is looked at as hearsay.
        """
        memory = self._memory(row, value, text)
        if memory is not None:
            return self._reader.shown(memory, whom=self._audience.of(whom)), True
        now = self._clock()
        # The reader keeps what it found under the id, so that no two texts may share one.
        name = f"entry:{self._ledger.digest('stranger', text)}"
        stranger = Memory(name, text, Standing.HEARSAY, Origin("import"), now, now)
        return self._reader.shown(stranger, now), False

    def _memory(self, row: EntryRow | None, value: Any, text: str) -> Memory | None:
        if row is None or row.memory is None or row.digest != self.digest(value):
            return None
        sealed = self._ledger.get("memories", row.memory)
        memory = memory_from(sealed) if sealed is not None and sealed.verified else None
        return memory if memory is not None and memory.text == text else None

    def saw(self, session: str, shown: Sequence[Shown]) -> None:
        """Note that a session was shown entries; hearsay taints it."""
        self._audience.saw(session, [one.memory for one in shown if not one.blocked], "entry")

    # What was seen

    def count(self, store: str, mode: str, counts: Counter[str], reasons: Counter[str]) -> None:
        """Add to what a wrapped store saw."""
        with self._ledger.writing() as entry:
            known = self._tally(store)
            since = known.since if known is not None else utc_text(self._clock())
            total = Counter(known.counts if known else {}) + counts
            why = Counter(known.reasons if known else {}) + reasons
            body = {"v": 1, "store": store, "mode": mode, "since": since, "counts": total, "reasons": why}
            entry.set(_TABLE, _counted(store), body, _COUNTS)
            entry.event("entries.counted")

    def tallies(self) -> list[StoreTally]:
        """What every wrapped store saw."""
        found = (one for one in self._ledger.all(_TABLE) if one.verified and one.row.tag == _COUNTS)
        return [_tally(json.loads(sealed.row.body)) for sealed in found]

    def _tally(self, store: str) -> StoreTally | None:
        sealed = self._ledger.get(_TABLE, _counted(store))
        return _tally(json.loads(sealed.row.body)) if sealed is not None and sealed.verified else None

    # Taking back

    def reconciled(self, store: str, taken: Sequence[EntryRow], dropped: Sequence[EntryRow]) -> str:
        """Write rows that were taken in and drop dead ones, in one transaction; the id takes all of it back."""
        undo = new_id("rcn")
        body = {
            "v": 1,
            "store": store,
            "taken": [_body(row) for row in taken],
            "dropped": [_body(row) for row in dropped],
        }
        with self._ledger.writing() as entry:
            for row in dropped:
                sealed = self._ledger.get(_TABLE, self._name(row.place))
                if sealed is not None:
                    entry.remove(_TABLE, sealed.row)
            for row in taken:
                entry.set(_TABLE, self._name(row.place), _body(row), _tag(store))
            entry.put(_TABLE, undo, body, _UNDO)
            entry.event("entries.reconciled", undo=undo, taken=len(taken), dropped=len(dropped))
        return undo

    def undo(self, undo: str) -> tuple[list[EntryRow], list[EntryRow]]:
        """Put dropped rows back and forget those that were taken in; gives what was taken and what was dropped.

        A place about which something newer was written since is left as it is.
        """
        sealed = self._ledger.get(_TABLE, undo)
        if sealed is None or not sealed.verified or sealed.row.tag != _UNDO:
            raise UnknownId("No such reconciliation, or it was taken back already.", code="unknown_reconciliation")
        body = json.loads(sealed.row.body)
        taken, dropped = ([_row(one) for one in body[name]] for name in ("taken", "dropped"))
        with self._ledger.writing() as entry:
            for row in taken:
                known = self._ledger.get(_TABLE, self._name(row.place))
                if known is not None and self.get(row.place) == row:
                    entry.remove(_TABLE, known.row)
            for row in dropped:
                if self.get(row.place) is None:
                    entry.set(_TABLE, self._name(row.place), _body(row), _tag(row.place.store))
            entry.remove(_TABLE, sealed.row)
            entry.event("entries.reconcile_undone", undo=undo)
        return taken, dropped

    def _name(self, place: Place) -> str:
        """A name that no namespace or key can imitate another's with, and that says nothing without the key."""
        return self._ledger.digest("place", json.dumps([place.store, list(place.namespace), place.key]))


def settled(row: EntryRow, memory: str | None) -> EntryRow:
    """The row once the store has what was pending."""
    if row.pending is None:
        return row
    return replace(row, digest=row.pending.digest, memory=memory, pending=None)


def _tag(store: str) -> str:
    return f"store:{store}"


def _counted(store: str) -> str:
    return f"counts:{store}"


def _body(row: EntryRow) -> dict[str, Any]:
    place, pending = row.place, row.pending
    body: dict[str, Any] = {"v": 1, "store": place.store, "namespace": list(place.namespace), "key": place.key}
    body |= {"digest": row.digest, "memory": row.memory}
    if pending is not None:
        body["pending"] = {name: getattr(pending, name) for name in PendingWrite.__slots__}
    return body


def _row(body: Mapping[str, Any]) -> EntryRow:
    place = Place(body["store"], tuple(body["namespace"]), body["key"])
    pending = PendingWrite(**body["pending"]) if "pending" in body else None
    return EntryRow(place, body["digest"], body["memory"], pending)


def _tally(body: Mapping[str, Any]) -> StoreTally:
    return StoreTally(body["store"], body["mode"], body["since"], body["counts"], body["reasons"])
