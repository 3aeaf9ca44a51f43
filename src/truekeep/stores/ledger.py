"""The ledger: sealed rows and an audit chain on any backend.

Every change is one transaction that writes rows with their MACs and, in the same transaction, events that name
them and cover the set of all rows now in force. Reads serve a row only when its MAC holds *and* it is the one
the chain left in that place, so neither an edit nor an old genuine row put back is believed.

- A row that fails by itself is served as unverified and the rest goes on.
- A broken chain, a store behind its anchor or rows that are missing stop every read with ``StoreTampered``.

The whole store is checked when it is opened; after that only what other processes changed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from truekeep.errors import KeepClosed, StoreTampered
from truekeep.stores.anchor import FileAnchor, Head
from truekeep.stores.audit import Expected, Tip, Touched, apply, check_anchor, follow, nothing_expected
from truekeep.stores.base import CARDED, TABLES, Backend, EventRow, Row
from truekeep.stores.seal import Seal
from truekeep.types import Verification, utc_text


class Sealed(NamedTuple):
    """A row as it was found, and whether it is the one this keep wrote and still holds."""

    row: Row
    verified: bool


class Ledger:
    """The sealed store of one keep. Thread-safe; several processes may have one each."""

    def __init__(self, backend: Backend, seal: Seal, anchor: FileAnchor, clock: Callable[[], datetime]) -> None:
        self._backend = backend
        self._seal = seal
        self._anchor = anchor
        self._clock = clock
        self._lock = threading.RLock()
        self._tip = Tip()
        self._expected = nothing_expected()
        self._changes = -1
        self._intact = False
        """Whether a full check found nothing wrong, and only this process has written since."""
        self._closed = False
        self._watchers: list[Callable[[Sequence[Touched]], None]] = []

    def watch(self, watcher: Callable[[Sequence[Touched]], None]) -> None:
        """Be told of the rows that this or another process changed, after their events were verified."""
        self._watchers.append(watcher)

    # The way in

    @contextmanager
    def writing(self) -> Iterator[Entry]:
        """One transaction: what the entry did, all of it with its events, or nothing."""
        with self._lock:
            self._require_open()
            with self._backend.writing():
                self._catch_up()
                entry = Entry(self._backend, self._seal, self._tip, self._expected, utc_text(self._clock()))
                yield entry
                entry.finish()
            apply(self._expected, entry.changed)
            self._tip = entry.tip
            self._tell(entry.changed)
            if entry.events:
                self._anchor.advance(self._tip.head)

    # The way out

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A consistent view over several reads, checked against what other processes did meanwhile."""
        with self._lock:
            self._require_open()
            with self._backend.reading():
                self._catch_up()
                yield

    def get(self, table: str, row_id: str) -> Sealed | None:
        """The row of that id."""
        with self.reading():
            row = self._backend.by_id(table, row_id)
            return self._sealed(table, row) if row else None

    def find_memory(self, memory_id: str) -> Sealed | None:
        """The memory of that id; a row that truekeep did not name is found by its ``row-N`` handle."""
        if memory_id.startswith("row-") and memory_id[4:].isdecimal() and len(memory_id) < 24:
            found = self.at("memories", [int(memory_id[4:])])
            return next(iter(found.values()), None)
        return self.get("memories", memory_id)

    def at(self, table: str, seqs: Sequence[int]) -> dict[int, Sealed]:
        """The rows at those places."""
        with self.reading():
            return {row.seq: self._sealed(table, row) for row in self._backend.by_seqs(table, seqs)}

    def all(self, table: str, *, after: int = 0, limit: int | None = None) -> list[Sealed]:
        """Rows in order of place, unverified ones marked."""
        with self.reading():
            return [self._sealed(table, row) for row in self._backend.rows(table, after=after, limit=limit)]

    def current(self, table: str, seqs: Sequence[int] | None = None) -> Iterator[Row]:
        """The verified rows, all or those at some places, each with its index card if that is verified, too.

        When the whole store was found intact and nobody else has written since, the MACs are not computed once
        more: this is for what only proposes, and whatever is served is verified again.
        """
        with self.reading():
            expected, backend = self._expected[table], self._backend
            rows = backend.rows(table, cards=True) if seqs is None else iter(backend.by_seqs(table, seqs, cards=True))
            for row in rows:
                if expected.get(row.seq) != row.mac:
                    continue
                if self._intact or self._seal.holds_whole(table, row):
                    yield row
                elif self._seal.holds(table, row):
                    yield row._replace(card=None)

    def tagged(self, table: str, tag: str, limit: int) -> list[Sealed]:
        """Rows with exactly that tag."""
        with self.reading():
            return [self._sealed(table, row) for row in self._backend.tagged(table, tag, limit)]

    def count(self, table: str, tag: str | None = None) -> int:
        """How many rows there are, or how many with that tag."""
        with self.reading():
            return self._backend.count(table, tag)

    def events(self, *, after: int = 0, limit: int | None = None) -> list[EventRow]:
        """Events in order."""
        with self.reading():
            return list(self._backend.events(after=after, limit=limit))

    def digest(self, purpose: str, text: str) -> str:
        """A keyed hash for the audit log and tombstones."""
        return self._seal.digest(purpose, text)

    # Checking

    def open(self) -> None:
        """Check the whole store once, and let the anchor catch up with a commit that a crash cut off from it."""
        with self._lock, self._backend.reading():
            self._verify_chain()
            self._intact = not self._verify_rows()
            self._changes = self._backend.changes()
        if self._tip.head.seq:
            self._anchor.advance(self._tip.head)

    def verify(self) -> Verification:
        """Check everything again, from the first event, and say what is wrong instead of raising."""
        with self._lock:
            self._require_open()
            with self._backend.reading():
                return self._verification()

    def _verification(self) -> Verification:
        rows = sum(self._backend.count(table) for table in TABLES)
        try:
            self._verify_chain()
            unverified = self._verify_rows()
        except StoreTampered as error:
            newest = self._backend.last_event()
            return Verification(False, newest.seq if newest else 0, rows, (str(error),))
        problems = tuple(f"{place} is not what this keep wrote there" for place in unverified)
        return Verification(not problems, self._tip.head.seq, rows, problems, tuple(unverified))

    def describe(self) -> dict[str, str]:
        """Facts for ``truekeep doctor``."""
        return self._backend.describe() | {"events": str(self._tip.head.seq)}

    @property
    def head(self) -> Head:
        """The newest event this process has verified."""
        return self._tip.head

    def close(self) -> None:
        """Let go of the database; closing twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._backend.close()
                self._anchor.close()

    def _require_open(self) -> None:
        if self._closed:
            raise KeepClosed("This keep is closed.")

    def _sealed(self, table: str, row: Row) -> Sealed:
        current = self._expected[table].get(row.seq) == row.mac
        return Sealed(row, current and self._seal.holds(table, row))

    def _tell(self, changed: Sequence[Touched]) -> None:
        for watcher in self._watchers:
            watcher(changed)

    def _catch_up(self) -> None:
        """Verify what other processes added; a change that no event explains costs a full check."""
        changes = self._backend.changes()
        if changes == self._changes:
            return
        self._intact = False
        newest = self._backend.last_event()
        if (newest.seq if newest else 0) < self._tip.head.seq:
            check_anchor(self._tip.head, None, newest.seq if newest else 0)
        changed: list[Touched] = []
        self._tip = follow(self._seal, self._tip, self._backend.events(after=self._tip.head.seq), changed)
        apply(self._expected, changed)
        self._tell(changed)
        if any(self._backend.count(table) != len(self._expected[table]) for table in TABLES):
            self._verify_chain()
            self._verify_rows()
        self._changes = changes

    def _verify_chain(self) -> None:
        anchored = self._anchor.read()
        newest = self._backend.last_event()
        at_anchor = self._backend.event(anchored.seq) if anchored else None
        check_anchor(anchored, at_anchor, newest.seq if newest else 0)
        self._tip = follow(self._seal, Tip(), self._backend.events())

    def _verify_rows(self) -> list[str]:
        """Fill in what is expected; returns the places of rows that are not what the chain left there."""
        tallies = {table: self._seal.tally(table, self._backend.rows(table, cards=True)) for table in TABLES}
        if sum(tally.total for tally in tallies.values()) % (1 << 256) != self._tip.total:
            return self._pinpoint()
        self._expected = {table: tally.macs for table, tally in tallies.items()}
        failed = [f"{table} row {seq}" for table, tally in tallies.items() for seq in tally.failed]
        cardless = [seq for tally in tallies.values() for seq in tally.cardless]
        return failed + [f"the index card of memories row {seq}" for seq in cardless]

    def _pinpoint(self) -> list[str]:
        """The set does not match: replay the chain to learn exactly which rows are missing, old or foreign."""
        expected = nothing_expected()
        changed: list[Touched] = []
        follow(self._seal, Tip(), self._backend.events(), changed)
        apply(expected, changed)
        self._expected = expected
        failed: list[str] = []
        missing: list[str] = []
        for table in TABLES:
            present = set()
            for row in self._backend.rows(table, cards=True):
                present.add(row.seq)
                if not self._sealed(table, row).verified:
                    failed.append(f"{table} row {row.seq}")
                elif not self._seal.holds_whole(table, row):
                    failed.append(f"the index card of {table} row {row.seq}")
            missing += [f"{table} row {seq}" for seq in expected[table].keys() - present]
        if missing:
            raise StoreTampered(
                f"{len(missing)} rows are missing from the store: {', '.join(sorted(missing)[:5])}.",
                code="rows_missing",
            )
        return failed


class Entry:
    """One open transaction of the ledger."""

    def __init__(self, backend: Backend, seal: Seal, tip: Tip, expected: Expected, at: str) -> None:
        self._backend = backend
        self._seal = seal
        self._expected = expected
        self._at = at
        self._macs: dict[tuple[str, int], bytes | None] = {}
        self._touched: list[Touched] = []
        self.tip = Tip(tip.head, tip.total)
        self.events: list[EventRow] = []
        self.changed: list[Touched] = []

    def put(self, table: str, row_id: str, body: dict[str, Any], tag: str = "", *, card: bytes | None = None) -> int:
        """Add a row at the next place; returns its place."""
        seq = self._backend.next_seq(table)
        self._backend.insert(table, self._sealed_row(table, Row(seq, row_id, tag, _encode(body), b"", card)))
        return seq

    def replace(self, table: str, old: Row, body: dict[str, Any], tag: str = "", *, card: bytes | None = None) -> None:
        """Give the row at that place new content; its identity stays, and its index card unless there is a new one."""
        kept = card if card is not None else self._card(table, old.seq)
        self._release(table, old.seq)
        self._backend.replace(table, self._sealed_row(table, Row(old.seq, old.id, tag, _encode(body), b"", kept)))

    def attach(self, table: str, row: Row, card: bytes) -> None:
        """Give a verified row a new index card; everything else in it stays. A foreign row is never sealed."""
        if self._known(table, row.seq) != row.mac or not self._seal.holds(table, row):
            return
        self._release(table, row.seq)
        self._backend.replace(table, self._sealed_row(table, row._replace(card=card)))

    def remove(self, table: str, row: Row) -> None:
        """Take a row away."""
        self._release(table, row.seq)
        self._backend.remove(table, row.seq)
        self._touch(table, row.seq, None)

    def event(self, kind: str, **body: Any) -> None:
        """Close what was done since the last event under one link of the chain."""
        seq = self.tip.head.seq + 1
        state = self._seal.mask(self.tip.total, seq)
        text = _encode({**body, "rows": self._touched} if self._touched else body)
        draft = EventRow(seq, self._at, kind, text, state, b"")
        event = EventRow(seq, self._at, kind, text, state, self._seal.link(self.tip.head.hash, draft))
        self._backend.append(event)
        self.events.append(event)
        self.tip.head = Head(seq, event.hash)
        self.changed += self._touched
        self._touched = []

    def finish(self) -> None:
        """Nothing changes without an event."""
        if self._touched:
            raise AssertionError("rows were changed without an event that names them")

    def _sealed_row(self, table: str, row: Row) -> Row:
        mac = self._seal.mac(table, row)
        self.tip.total += self._seal.term(mac)
        self._touch(table, row.seq, mac)
        return row._replace(mac=mac)

    def _card(self, table: str, seq: int) -> bytes | None:
        """The index card at that place, if it is this keep's own."""
        rows = self._backend.by_seqs(table, [seq], cards=True) if table in CARDED else []
        return next((row.card for row in rows if self._seal.holds_whole(table, row)), None)

    def _release(self, table: str, seq: int) -> None:
        # The sum holds what this keep wrote there, whatever the row says now; a foreign row has no share in it.
        mac = self._known(table, seq)
        if mac is not None:
            self.tip.total -= self._seal.term(mac)

    def _known(self, table: str, seq: int) -> bytes | None:
        """The MAC of what this keep has at that place, this transaction included."""
        return self._macs.get((table, seq), self._expected[table].get(seq))

    def _touch(self, table: str, seq: int, mac: bytes | None) -> None:
        self._macs[table, seq] = mac
        self._touched.append((table, seq, mac.hex() if mac else None))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
