"""Inspection: is the chain whole, does it reach its anchors, is every row in its place?

The whole store is checked when it is opened. After that ``Verified`` follows what other processes change, and now and
then the whole is checked again while they write.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from truekeep.errors import KeyUnavailable, StoreTampered
from truekeep.stores.anchor import AnchorHead, Anchors
from truekeep.stores.base import RESTRICTING, TABLES, Backend, EventRow, Row
from truekeep.stores.chain import (
    ACCEPT,
    Expected,
    RowIndex,
    Tip,
    Touched,
    apply,
    check_anchor,
    follow,
    known_good,
    nothing_expected,
)
from truekeep.stores.seal import MODULUS

if TYPE_CHECKING:
    from truekeep.stores.seal import Seal, SealTally

_NAMED = 5
"""Rows that an error names; the rest is counted."""
_FEW = 20_000
"""Up to so many memories are handed on instead of being read twice; their rows are about 1.5 KB each."""
_SELDOM = 50
"""A whole check is due when this many times what it cost has passed since the last one."""


class RowPlace(NamedTuple):
    """Where a row is, or should be."""

    table: str
    seq: int

    def __str__(self) -> str:
        return f"{self.table} row {self.seq}"


class Inspection(NamedTuple):
    """What was found: ``foreign`` rows that this keep never put there, ``altered`` ones where it put something else."""

    expected: Expected
    missing: tuple[RowPlace, ...] = ()
    altered: tuple[RowPlace, ...] = ()
    foreign: tuple[RowPlace, ...] = ()
    cards: tuple[RowPlace, ...] = ()
    """Rows that hold but for their index card."""
    places: RowIndex | None = None
    """Where the rows are that hold."""

    @property
    def lost(self) -> tuple[RowPlace, ...]:
        """What nobody can know any more, and what would matter."""
        return self.missing + tuple(place for place in self.altered if place.table in RESTRICTING)

    @property
    def unknowable(self) -> tuple[RowPlace, ...]:
        """What a person can only give up. An altered memory is none of it: it is shown as blocked, and deleted."""
        return self.missing + tuple(place for place in self.altered if place.table != "memories")

    @property
    def not_ours(self) -> tuple[RowPlace, ...]:
        """The rows that this keep did not write, or not as they are now."""
        return self.altered + self.foreign

    @property
    def unverified(self) -> list[str]:
        """The places of everything that is not what this keep wrote there, for people."""
        return [str(place) for place in self.not_ours] + [f"the index card of {at}" for at in self.cards]

    def require_nothing_lost(self, head: AnchorHead) -> None:
        """Stop every read when rows are gone whose content nobody can know."""
        if not self.lost:
            return
        named = ", ".join(str(place) for place in sorted(self.lost)[:_NAMED])
        more = f" and {len(self.lost) - _NAMED} more" if len(self.lost) > _NAMED else ""
        what = "missing from the store" if self.missing else "altered, and they restrict what may be done"
        raise StoreTampered(
            f"{len(self.lost)} rows are {what}: {named}{more}.",
            code="rows_missing" if self.missing else "rows_altered",
            hint=f"Put a good copy of the data directory back. {ACCEPT}",
            where=f"{named}{more}",
            since=known_good(head),
        )


def inspect_chain(backend: Backend, seal: Seal, anchored: Sequence[tuple[str, AnchorHead | None]] = ()) -> Tip:
    """Walk the whole chain, which must reach every head that was anchored."""
    newest = newest_here(backend)
    for name, head in anchored:
        check_anchor(head, backend.event(head.seq) if head else None, newest, name)
    return follow(Tip(seal), backend.events())


def newest_here(backend: Backend) -> AnchorHead:
    """The newest event in the store, whether or not it is genuine."""
    return _head(backend.last_event())


def _head(event: EventRow | None) -> AnchorHead:
    return AnchorHead(event.seq, event.hash, event.at) if event is not None else AnchorHead(0, bytes(32))


def require_newest_keys(tip: Tip) -> None:
    """Refuse a chain that ends under keys which were replaced: whoever has those could go on with it."""
    if tip.seal.is_superseded:
        raise StoreTampered(
            "The store ends under keys that were replaced since.",
            code="keys_superseded",
            hint="Put the genuine data directory back, or a backup with: truekeep restore.",
            where=f"event {tip.head.seq}",
            since=known_good(tip.head),
        )


def inspect_rows(backend: Backend, tip: Tip, seen: list[Row] | None = None, *, one_by_one: bool = False) -> Inspection:
    """Compare every row with what the chain left in its place; ``seen`` gets the memories, unless they are many.

    The sum over all rows says that at once, to whoever does not have its key. ``one_by_one`` goes by the events alone.
    """
    found = {table: backend.rows(table, cards=True) for table in TABLES}
    if seen is not None:
        found["memories"] = _noted(found["memories"], seen)
    tallies = {table: tip.seal.tally(table, rows) for table, rows in found.items()}
    cards = tuple(RowPlace(table, seq) for table, tally in tallies.items() for seq in tally.cardless)
    if one_by_one or sum(tally.total for tally in tallies.values()) % MODULUS != tip.total:
        return _pinpointed(backend, tip, cards)
    # The sum is that of the rows the chain left, so whatever does not hold is nothing that the chain left.
    foreign = tuple(RowPlace(table, seq) for table, tally in tallies.items() for seq in tally.failed)
    expected = {table: tally.macs for table, tally in tallies.items()}
    return Inspection(expected, foreign=foreign, cards=cards, places=_indexed(tallies))


def _indexed(tallies: Mapping[str, SealTally]) -> RowIndex:
    index = RowIndex()
    for table, tally in tallies.items():
        index.load(table, tally.ids, tally.tags)
    return index


def _noted(rows: Iterator[Row], seen: list[Row]) -> Iterator[Row]:
    seen += islice(rows, _FEW)
    yield from seen
    for row in rows:
        seen.clear()
        yield row


def _pinpointed(backend: Backend, tip: Tip, cards: tuple[RowPlace, ...]) -> Inspection:
    """The set does not match: replay the chain to learn exactly which rows are missing, old or foreign."""
    expected = replayed(backend, tip)
    _require_sum(expected, tip)
    index, missing, altered, foreign = RowIndex(), list[RowPlace](), list[RowPlace](), list[RowPlace]()
    for table in TABLES:
        left = expected[table]
        present = set()
        for row in backend.rows(table):
            present.add(row.seq)
            if row.seq not in left:
                foreign.append(RowPlace(table, row.seq))
            elif left[row.seq] != row.mac or not tip.seal.holds(table, row):
                altered.append(RowPlace(table, row.seq))
            else:
                index.put(table, row.seq, row.id, row.tag)
        missing += [RowPlace(table, seq) for seq in sorted(left.keys() - present)]
    index.keep()
    return Inspection(expected, tuple(missing), tuple(altered), tuple(foreign), cards, index)


def _require_sum(expected: Expected, tip: Tip) -> None:
    """What the events left and the sum over it must agree: a row that was overwritten unseen is still in the sum."""
    total = sum(tip.seal.term(mac) for left in expected.values() for mac in left.values())
    if total % MODULUS != tip.total % MODULUS:
        raise StoreTampered(
            "The set of rows that the audit chain vouches for is not the one that its events left.",
            code="set_mismatch",
            hint="Put a good copy of the data directory back. What still verifies: truekeep audit salvage.",
            where="the rows in force",
            since=known_good(tip.head),
        )


def replayed(backend: Backend, tip: Tip) -> Expected:
    """What the chain left in force, event by event."""
    expected, changed = nothing_expected(), list[Touched]()
    follow(Tip(tip.seal.first()), backend.events(), changed)
    apply(expected, changed)
    return expected


def unsound(backend: Backend) -> list[str]:
    """The tables whose own indexes do not list what is in them: nothing is looked up there, but writing may fail."""
    return [table for table in TABLES if not backend.has_sound_index(table)]


class Verified:
    """The verified state of one store. Whoever asks holds the ledger's lock, and a view of the store."""

    def __init__(
        self, backend: Backend, seal: Seal, anchors: Anchors, tell: Callable[[Sequence[Touched]], None]
    ) -> None:
        self._backend = backend
        self._first_seal = seal
        self._tell = tell
        self._changes = -1
        self.anchors = anchors
        self._anchored: list[tuple[str, AnchorHead | None]] | None = None
        self.tip = Tip(seal)
        self.expected = nothing_expected()
        self.found = Inspection(self.expected)
        """What the last look at everything found."""
        self.index = RowIndex()
        self.is_intact = False
        """Whether a full check found nothing wrong, and only this process has written since."""
        self.due = 0.0

    @contextmanager
    def anchored_first(self) -> Iterator[None]:
        """Read the anchors now, for a view that begins inside.

        What is anchored was committed before, so a view that begins after the anchors were read has it. A view that
        began before them may lack what another process wrote and anchored in between, and that is no rollback.
        """
        self._anchored = self.anchors.heads()
        try:
            yield
        finally:
            self._anchored = None

    def view(self, check: Callable[[], None] | None = None) -> ExitStack:
        """A view of the store that passed a check: unless another is given, that it was caught up with.

        What another process wrote and anchored after a view began looks like a rollback in it. A second view that
        begins after the anchors were read cannot lack what they say, so what it refuses is refused.
        """
        try:
            return self._viewed(check or self.catch_up)
        except StoreTampered as error:
            if error.code != "store_rolled_back" or self._anchored is not None:
                raise
        with self.anchored_first():
            return self._viewed(check or self.catch_up)

    def _viewed(self, check: Callable[[], None]) -> ExitStack:
        with ExitStack() as stack:
            stack.enter_context(self._backend.reading())
            check()
            return stack.pop_all()

    def begin(self) -> bool:
        """Trust what was just checked as a whole; says whether all of it is what this keep wrote."""
        self.is_intact = not self.found.unverified
        self._changes = self._backend.changes()
        return self.is_intact

    def advance(self, changed: Sequence[Touched], tip: Tip) -> None:
        """Move on with the chain: to the end of a transaction of this process, or of what was verified of others'."""
        self.tip = tip
        apply(self.expected, changed)
        self._tell(changed)

    def catch_up(self) -> None:
        """Verify what other processes added; a change that no event explains costs a full check."""
        changes, last, known = self._backend.changes(), self._backend.last_event(), self.tip.head
        is_same = known.seq == 0 if last is None else (last.seq, last.hash) == (known.seq, known.hash)
        if changes == self._changes and is_same:
            return
        self.is_intact = False
        check_anchor(known, self._backend.event(known.seq), _head(last))
        changed: list[Touched] = []
        self.advance(changed, follow(self.tip, self._backend.events(after=known.seq), changed))
        if known == self.tip.head or not self._adds_up() or time.monotonic() > self.due:
            self.due = 0.0  # what was followed and not learned is looked at again, should this check fail
            self.check()
        else:
            self._learn(changed)
        self._changes = changes

    def glance(self, table: str, seqs: Sequence[int]) -> list[Row] | None:
        """The rows at those places, unless there is anything to catch up with."""
        return self._backend.glance(self._changes, self.tip.head.seq, self.tip.head.hash, table, seqs)

    def require_linked(self, after: int, events: Sequence[EventRow]) -> None:
        """Refuse events that were altered since they were verified, under cover of another process's honest write.

        They are followed from the one before them; where keys were rotated or something was erased, all are.
        """
        if self.is_intact:
            return
        try:
            follow(Tip(self.tip.seal, _head(self._backend.event(after))), events)
        except (StoreTampered, KeyUnavailable):
            follow(Tip(self._first_seal), self._backend.events())

    def _learn(self, changed: Sequence[Touched]) -> None:
        """Read where the rows are that others wrote, and under which id and tag."""
        for table in {table for table, _, _ in changed}:
            touched = sorted({seq for one, seq, _ in changed if one == table})
            left = [seq for seq in touched if seq in self.expected[table]]
            found = {row.seq: row for row in self._backend.by_seqs(table, left)}
            altered = []
            for seq in touched:
                self.index.forget(table, seq)
            for seq, row in found.items():
                if row.mac == self.expected[table][seq] and self.tip.seal.holds(table, row):
                    self.index.put(table, seq, row.id, row.tag)
                else:
                    altered.append(RowPlace(table, seq))
            self.note([RowPlace(table, seq) for seq in left if seq not in found], altered)
        self.index.keep()

    def _adds_up(self) -> bool:
        """Whether there are as many rows as the chain left, and the strangers that are known."""
        strangers = Counter(place.table for place in self.found.foreign)
        return all(self._backend.count(table) == len(self.expected[table]) + strangers[table] for table in TABLES)

    def note(self, missing: Sequence[RowPlace], altered: Sequence[RowPlace] = ()) -> None:
        """Stop every read where rows are gone that matter; remember those that were altered since the last check."""
        Inspection(self.expected, tuple(missing), tuple(altered)).require_nothing_lost(self.tip.head)
        fresh = [place for place in altered if place not in self.found.altered]
        if fresh:
            self.found = self.found._replace(altered=(*self.found.altered, *fresh))

    def check(self, seen: list[Row] | None = None) -> Inspection:
        """Look at everything; what is expected is known afterwards. ``seen`` gets the memories, if they are few."""
        started = time.monotonic()
        self.tip = inspect_chain(
            self._backend, self._first_seal, self._anchored if self._anchored is not None else self.anchors.heads()
        )
        require_newest_keys(self.tip)
        found = inspect_rows(self._backend, self.tip, seen)
        self.expected, self.found = found.expected, found
        self.index = found.places or RowIndex()
        found.require_nothing_lost(self.tip.head)
        now = time.monotonic()
        self.due = now + _SELDOM * (now - started)
        return found
