"""The ledger: sealed rows and an audit chain on any backend.

Every change is one transaction that writes rows with their MACs and, in the same transaction, events that name
them and cover the set of all rows now in force. Reads serve a row only when its MAC holds *and* it is the one
the chain left in that place, so neither an edit nor an old genuine row put back is believed.

- A row that fails by itself is served as unverified and the rest goes on. In a table that restricts, a row that the
  chain did not leave there is no row.
- A broken chain, a store behind its anchor, rows that are missing, or restricting ones that were altered stop every
  read with ``StoreTampered``.

What this process may take for checked is in ``inspection.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from truekeep.errors import KeepClosed, StoreTampered
from truekeep.stores.base import RESTRICTING, TABLES, Backend, EventRow, Row
from truekeep.stores.chain import ADOPTED, KeepClock, Touched
from truekeep.stores.entry import Entry, Mark
from truekeep.stores.inspection import RowPlace, Verified, newest_here, unsound
from truekeep.stores.supposing import Made, Outrun, Supposed, supposing
from truekeep.text.view import WATCH
from truekeep.types import Verification, utc_text

if TYPE_CHECKING:
    from truekeep.stores.anchor import AnchorHead, Anchors
    from truekeep.stores.seal import Seal


class Sealed(NamedTuple):
    """A row as it was found, and whether it is the one this keep wrote and still holds."""

    row: Row
    verified: bool


class Ledger:
    """The sealed store of one keep. Thread-safe; several processes may have one each."""

    def __init__(self, backend: Backend, seal: Seal, anchors: Anchors, clock: Callable[[], datetime]) -> None:
        self._backend = backend
        self._verified = Verified(backend, seal, anchors, self._tell)
        self._lock = threading.RLock()
        self._depth = 0
        """How many views and transactions are open, one inside the other."""
        self.clock = KeepClock(clock, self._verified)
        """The time in this keep, which never goes back."""
        self._unanchored = False
        self._grouped = False
        self._just_read: list[Row] | None = None
        """The memories as opening found them, until somebody asks for all of them or something changes."""
        self._closed = False
        self._entry: Entry | None = None
        """The transaction that is open: the reads inside it believe what it wrote."""
        self._watchers: list[Callable[[Sequence[Touched]], None]] = []
        self._marks = threading.local()

    @property
    def _seal(self) -> Seal:
        return self._verified.tip.seal

    def watch(self, watcher: Callable[[Sequence[Touched]], None]) -> None:
        """Be told of the rows that this or another process changed, after their events were verified."""
        self._watchers.append(watcher)

    # The way in

    @contextmanager
    def writing(self) -> Iterator[Entry]:
        """One transaction: what the entry did, all of it with its events, or nothing."""
        with WATCH.get()("store.commit"), self._lock:
            self._require_open()
            self._require_no_supposing()
            # A write whose anchor failed is caught up with first: whoever keeps the anchor from being written would
            # otherwise be free to roll the store back behind ever more of it.
            if self._unanchored and not self._grouped:
                self._anchor()
            # From the outside in: the index is taken back after the database was, and what other processes wrote is
            # verified inside the lock of the write, so that nothing comes between what was checked and what is added.
            with self._indexed(), self._backend.writing():
                if self._depth == 0:
                    self._verified.catch_up()
                known = self._verified
                entry = Entry(self._backend, known.tip, known.expected, utc_text(self.clock()), known.index)
                mark: Mark | None = getattr(self._marks, "next", None)
                self._entry = entry
                self._depth += 1
                try:
                    if mark is not None:
                        mark.require_new()
                    yield entry
                    if mark is not None and entry.events:
                        mark.note(entry)
                    entry.finish()
                finally:
                    self._entry = None
                    self._depth -= 1
            # Committed. The anchor comes last: one that ran ahead of the store would make an honest crash look like a
            # rollback, while one that lags is brought up by the next write or the next opening.
            self._verified.advance(entry.changed, entry.tip)
            if entry.events:
                self._marks.next = None
                self._unanchored = True
                if not self._grouped:
                    self._anchor()

    @contextmanager
    def _indexed(self) -> Iterator[None]:
        """Where rows are is known as the transaction writes them, and is as it was if it fails."""
        try:
            yield
        except BaseException:
            self._verified.index.take_back()
            raise
        self._verified.index.keep()

    @contextmanager
    def marked(self, mark: Mark) -> Iterator[None]:
        """The first transaction of this thread in the block that is not undone carries the mark."""
        self._marks.next = mark
        try:
            yield
        finally:
            self._marks.next = None

    @contextmanager
    def group(self) -> Iterator[None]:
        """Several transactions that share one write of the anchor. None of them counts as done before the group is."""
        with self._lock:
            if self._grouped:
                yield
                return
            self._grouped = True
            try:
                yield
            finally:
                self._grouped = False
                if self._unanchored:
                    self._anchor()

    def adopt(self, anchors: Anchors, added: Sequence[str]) -> None:
        """Anchor in these places from now on; those that were added count as lost should they ever be missing."""
        anchors.create()
        with self._lock:
            self._verified.anchors = anchors
            self._anchor()
            with self.writing() as entry:
                entry.event(ADOPTED, anchors=list(added))

    def _anchor(self) -> None:
        # A failure leaves the mark: the write is there, but nothing more is written until it is anchored.
        self._verified.anchors.advance(self.head)
        self._unanchored = False

    # The way out

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A consistent view over several reads, checked against what other processes did meanwhile."""
        with self._lock:
            self._require_open()
            if self._depth:
                yield  # inside a view already, or inside a transaction
            elif self._supposed is not None:
                self._supposed.require()
                yield
            else:
                with self._verified.view():
                    self._depth += 1
                    try:
                        yield
                    finally:
                        self._depth -= 1

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """A view in which anything may be asked of the backend."""
        self._require_no_supposing()
        with self.reading():
            yield

    def supposing(self, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, from one look at the store if that will do. It only reads, and may be called twice."""
        with self._lock:
            self._require_open()
            is_inside = self._depth > 0 or self._supposed is not None
        return make() if is_inside else supposing(make, self._verified, self._lock, self._marks)

    @property
    def _supposed(self) -> Supposed | None:
        return getattr(self._marks, "supposed", None)

    def _require_no_supposing(self) -> None:
        if self._supposed is not None and not self._depth:
            raise Outrun

    def _rows_at(self, table: str, seqs: Sequence[int]) -> list[Row]:
        if self._supposed is None or self._depth or not seqs:
            return self._backend.by_seqs(table, seqs)
        return self._supposed.rows(table, seqs)

    def get(self, table: str, row_id: str) -> Sealed | None:
        """The row of that id."""
        with self.reading():
            seq = self._verified.index.place(table, row_id)
            found = self._ours(table, [seq]) if seq is not None else []
            if found and not (found[0].verified and found[0].row.id != row_id):
                return found[0]
            if table in RESTRICTING:
                return None
            with self._asking():
                row = self._backend.by_id(table, row_id)  # a stranger, or one that was altered
            return self._sealed(table, row) if row is not None else None

    def has(self, table: str, row_id: str) -> bool:
        """Whether the keep has a row of that id, told without asking for it."""
        with self.reading():
            return self._verified.index.place(table, row_id) is not None

    def find_memory(self, memory_id: str) -> Sealed | None:
        """The memory of that id; a row that truekeep did not name is found by its ``row-N`` handle."""
        if memory_id.startswith("row-") and memory_id[4:].isdecimal() and len(memory_id) < 24:
            return next(iter(self.at("memories", [int(memory_id[4:])]).values()), None)
        return self.get("memories", memory_id)

    def at(self, table: str, seqs: Sequence[int]) -> dict[int, Sealed]:
        """The rows at those places."""
        with self.reading():
            found = {row.seq: row for row in self._rows_at(table, seqs)}
            self._require_all(table, [seq for seq in seqs if self._known(table, seq) is not None], found)
            return {seq: self._sealed(table, row) for seq, row in found.items() if self._counts(table, row)}

    def all(self, table: str, *, after: int = 0, limit: int | None = None) -> list[Sealed]:
        """Rows in order of place, unverified ones marked."""
        with self._asking():
            rows = list(self._backend.rows(table, after=after, limit=limit))
            if limit is None and not after:
                places = [seq for seq in self._verified.expected[table] if self._known(table, seq) is not None]
                self._require_all(table, places, {row.seq: row for row in rows})
            return [self._sealed(table, row) for row in rows if self._counts(table, row)]

    def everything(self, table: str) -> list[Sealed]:
        """All rows that lie in a table, also those that count for nothing: to look for something in them."""
        with self._asking():
            counted = {sealed.row.seq: sealed for sealed in self.all(table)}
            return [counted.get(row.seq, Sealed(row, verified=False)) for row in self._backend.rows(table)]

    def current(self, table: str, seqs: Sequence[int] | None = None) -> Iterator[Row]:
        """The verified rows, all or those at some places, each with its index card if that is verified, too.

        When the whole store was found intact and nobody else has written since, the MACs are not computed once
        more: this is for what only proposes, and whatever is served is verified again.
        """
        with self.reading():
            if table == "memories" and seqs is None and self._just_read is not None:
                found, self._just_read = self._just_read, None
                yield from found
                return
        with self._asking():
            every = self._backend.rows(table, cards=True) if seqs is None else None
            rows = every or self._backend.by_seqs(table, seqs or (), cards=True)
            expected = self._verified.expected[table]
            in_force = (row for row in rows if expected.get(row[0]) == row[4])
            if self._verified.is_intact:
                yield from in_force
                return
            for row in in_force:
                if self._seal.holds_whole(table, row):
                    yield row
                elif self._seal.holds(table, row):
                    yield row._replace(card=None)

    def oldest_memory(self) -> Row | None:
        """The first memory's row with its card, as opening has just read it or else as it is read now."""
        if self._just_read is not None:
            return self._just_read[0]
        with self._asking():
            first = next(self._backend.rows("memories", limit=1), None)
            return next(self.current("memories", [first.seq]), None) if first is not None else None

    def tagged(self, table: str, tag: str, limit: int, *, newest: bool = False) -> list[Sealed]:
        """Rows with exactly that tag; ``newest`` begins at the last place. Strangers come after all of this keep's."""
        with self.reading():
            places = self._verified.index.places(table, tag)
            chosen = (places[::-1] if newest else places)[: None if limit < 0 else limit]
            found = [sealed for sealed in self._ours(table, chosen) if not sealed.verified or sealed.row.tag == tag]
            if table in RESTRICTING or (0 <= limit <= len(found)):
                return found
            strangers = [place.seq for place in self._verified.found.not_ours if place.table == table]
            rows = [row for row in self._rows_at(table, strangers) if row.tag == tag != ""]
            known = {sealed.row.seq for sealed in found}
            return found + [self._sealed(table, row) for row in rows if row.seq not in known]

    def tags_among(self, tables: Sequence[str], tags: Sequence[str]) -> set[str]:
        """Those of the tags under which this keep has rows in one of the tables."""
        with self.reading():
            return self._verified.index.tags_among(tables, tags)

    def _ours(self, table: str, seqs: Sequence[int]) -> list[Sealed]:
        """The rows that this keep has at those places. One that is gone was taken away, and stops every read."""
        wanted = [seq for seq in seqs if self._known(table, seq) is not None]
        found = {row.seq: row for row in self._rows_at(table, wanted)}
        self._require_all(table, wanted, found)
        return [self._sealed(table, found[seq]) for seq in wanted]

    def is_empty(self, table: str) -> bool:
        """Whether this keep has no row in a table; costs no look at the table."""
        with self.reading():
            return table in RESTRICTING and not self._verified.expected[table] and self.draft(table) is None

    def draft(self, table: str) -> tuple[Entry, int] | None:
        """The open transaction and how often it has changed that table, if it has; another value after each change."""
        changes = self._entry.changes[table] if self._entry is not None else 0
        return (self._entry, changes) if self._entry is not None and changes else None

    def count(self, table: str, tag: str) -> int:
        """How many rows with that tag this keep has."""
        with self.reading():
            return sum(self._known(table, seq) is not None for seq in self._verified.index.places(table, tag))

    def events(self, *, after: int = 0, limit: int | None = None) -> list[EventRow]:
        """Events in order."""
        with self._asking():
            found = list(self._backend.events(after=after, limit=limit))
            self._verified.require_linked(after, found)
            return found

    def digest(self, purpose: str, text: str) -> str:
        """A keyed hash for the audit log and tombstones."""
        return self._seal.digest(purpose, text)

    # Checking

    def open(self) -> None:
        """Check the whole store once, and let the anchor catch up with a commit that a crash cut off from it."""
        seen: list[Row] = []

        def check() -> None:
            seen.clear()
            self._verified.check(seen)

        with self._lock, self._verified.anchored_first(), self._verified.view(check):
            self._just_read = seen if self._verified.begin() and seen else None
        if self.head.seq:
            self._anchor()

    def verify(self) -> Verification:
        """Check everything again, from the first event, and say what is wrong instead of raising."""
        with self._lock:
            self._require_open()
            with self._verified.anchored_first(), self._backend.reading():
                return self._verification()

    def _verification(self) -> Verification:
        rows = sum(self._backend.count(table) for table in TABLES)
        try:
            found = self._verified.check()
        except StoreTampered as error:
            return Verification(False, newest_here(self._backend).seq, rows, (str(error),))
        problems = [f"{place} is not what this keep wrote there" for place in found.unverified]
        problems += [f"the index of {table} does not list what is in it" for table in unsound(self._backend)]
        return Verification(not problems, self.head.seq, rows, tuple(problems), tuple(found.unverified))

    def state(self) -> Verification:
        """What the last look at everything found and is still so; a store that cannot be trusted at all raises."""
        with self.reading():
            places = [place for place in self._verified.found.not_ours if self._is_unverified(place)]
            named = [*map(str, places), *(f"the index card of {place}" for place in self._verified.found.cards)]
            problems = tuple(f"{place} is not what this keep wrote there" for place in named)
            rows = sum(len(expected) for expected in self._verified.expected.values())
            return Verification(not problems, self.head.seq, rows, problems, tuple(named))

    def _is_unverified(self, place: RowPlace) -> bool:
        rows = self._rows_at(place.table, [place.seq])
        return any(
            self._known(place.table, row.seq) != row.mac or not self._seal.holds(place.table, row) for row in rows
        )

    def has_altered(self, *tables: str) -> bool:
        """Whether a row that this keep wrote in one of those tables says something else now: nobody knows what it said.

        It does until a person takes it away or puts something in its place.
        """
        with self.reading():
            places = [place for place in self._verified.found.altered if place.table in tables]
            return any(self._known(*place) is not None and self._is_unverified(place) for place in places)

    def strangers(self, table: str) -> list[int]:
        """The places in that table of rows that this keep did not write, or not as they are now."""
        with self.reading():
            return sorted(place.seq for place in self._verified.found.not_ours if place.table == table)

    def sign(self, message: bytes) -> tuple[str, str]:
        """The keep's public key and its signature over a message."""
        return self._seal.sign(message)

    def scrub(self) -> bool:
        """Leave nothing of removed rows in the file; false if another process kept part of the log in use."""
        with self._lock:
            self._require_open()
            done = self._backend.scrub()
            with self.reading():
                return done

    def describe(self) -> dict[str, str]:
        """Facts for ``truekeep doctor``."""
        return self._backend.describe() | {"events": str(self.head.seq)}

    @property
    def head(self) -> AnchorHead:
        """The newest event this process has verified."""
        return self._verified.tip.head

    def close(self) -> None:
        """Let go of the database; closing twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._backend.close()
                self._verified.anchors.close()

    def _require_open(self) -> None:
        if self._closed:
            raise KeepClosed("This keep is closed.")

    def _sealed(self, table: str, row: Row) -> Sealed:
        sealed = Sealed(row, self._known(table, row.seq) == row.mac and self._seal.holds(table, row))
        if not sealed.verified and self._known(table, row.seq) is not None:
            self._verified.note((), [RowPlace(table, row.seq)])
        return sealed

    def _counts(self, table: str, row: Row) -> bool:
        """Whether a row is to be looked at: where rows restrict, only the chain says which there are."""
        return table not in RESTRICTING or self._known(table, row.seq) is not None

    def _known(self, table: str, seq: int) -> bytes | None:
        """The MAC of what this keep has at that place, the open transaction included."""
        return self._entry.known(table, seq) if self._entry else self._verified.expected[table].get(seq)

    def _require_all(self, table: str, places: Iterable[int], found: Mapping[int, Row]) -> None:
        self._verified.note([RowPlace(table, seq) for seq in places if seq not in found])

    def _tell(self, changed: Sequence[Touched]) -> None:
        self._just_read = None
        for watcher in self._watchers:
            watcher(changed)
