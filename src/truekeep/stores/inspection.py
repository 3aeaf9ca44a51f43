"""Inspection: a look at the whole store. Is the chain whole, does it reach its anchors, is every row in its place?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from truekeep.errors import StoreTampered
from truekeep.stores.anchor import Anchors, Head
from truekeep.stores.audit import (
    ACCEPT,
    Expected,
    Tip,
    Touched,
    apply,
    check_anchor,
    follow,
    known_good,
    nothing_expected,
)
from truekeep.stores.base import RESTRICTING, TABLES, Backend, Row
from truekeep.stores.seal import Seal

_MODULUS = 1 << 256
_NAMED = 5
_FEW = 20_000
"""Up to so many memories are handed on instead of being read twice; their rows are about 1.5 KB each."""


class Place(NamedTuple):
    """Where a row is, or should be."""

    table: str
    seq: int

    def __str__(self) -> str:
        return f"{self.table} row {self.seq}"


class Inspection(NamedTuple):
    """What was found: ``foreign`` rows that this keep never put there, ``altered`` ones where it put something else."""

    expected: Expected
    missing: tuple[Place, ...] = ()
    altered: tuple[Place, ...] = ()
    foreign: tuple[Place, ...] = ()
    cards: tuple[Place, ...] = ()
    """Rows that hold but for their index card."""

    @property
    def lost(self) -> tuple[Place, ...]:
        """What nobody can know any more, and what would matter."""
        return self.missing + tuple(place for place in self.altered if place.table in RESTRICTING)

    @property
    def not_ours(self) -> tuple[Place, ...]:
        """The rows that this keep did not write, or not as they are now."""
        return self.altered + self.foreign

    @property
    def unverified(self) -> list[str]:
        """The places of everything that is not what this keep wrote there, for people."""
        return [str(place) for place in self.not_ours] + [f"the index card of {at}" for at in self.cards]

    def require_nothing_lost(self, head: Head) -> None:
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


def inspect_chain(backend: Backend, seal: Seal, anchors: Anchors) -> Tip:
    """Walk the whole chain, which must reach every anchor."""
    newest = newest_here(backend)
    for anchor in anchors.all:
        anchored = anchor.read()
        event = backend.event(anchored.seq) if anchored else None
        check_anchor(anchored, event, newest, anchor.name)
    return follow(Tip(seal), backend.events())


def newest_here(backend: Backend) -> Head:
    """The newest event in the store, whether or not it is genuine."""
    newest = backend.last_event()
    return Head(newest.seq, newest.hash, newest.at) if newest else Head(0, bytes(32))


def inspect_rows(backend: Backend, tip: Tip, seen: list[Row] | None = None) -> Inspection:
    """Compare every row with what the chain left in its place; ``seen`` gets the memories, unless they are many."""
    found = {table: backend.rows(table, cards=True) for table in TABLES}
    if seen is not None:
        found["memories"] = _noted(found["memories"], seen)
    tallies = {table: tip.seal.tally(table, rows) for table, rows in found.items()}
    cards = tuple(Place(table, seq) for table, tally in tallies.items() for seq in tally.cardless)
    if sum(tally.total for tally in tallies.values()) % _MODULUS != tip.total:
        return _pinpointed(backend, tip, cards)
    # The sum is that of the rows the chain left, so whatever does not hold is nothing that the chain left.
    foreign = tuple(Place(table, seq) for table, tally in tallies.items() for seq in tally.failed)
    return Inspection({table: tally.macs for table, tally in tallies.items()}, foreign=foreign, cards=cards)


def _noted(rows: Iterator[Row], seen: list[Row]) -> Iterator[Row]:
    seen += islice(rows, _FEW)
    yield from seen
    for row in rows:
        seen.clear()
        yield row


def _pinpointed(backend: Backend, tip: Tip, cards: tuple[Place, ...]) -> Inspection:
    """The set does not match: replay the chain to learn exactly which rows are missing, old or foreign."""
    expected = replayed(backend, tip)
    missing: list[Place] = []
    altered: list[Place] = []
    foreign: list[Place] = []
    for table in TABLES:
        left = expected[table]
        present = set()
        for row in backend.rows(table):
            present.add(row.seq)
            if row.seq not in left:
                foreign.append(Place(table, row.seq))
            elif left[row.seq] != row.mac or not tip.seal.holds(table, row):
                altered.append(Place(table, row.seq))
        missing += [Place(table, seq) for seq in sorted(left.keys() - present)]
    return Inspection(expected, tuple(missing), tuple(altered), tuple(foreign), cards)


def replayed(backend: Backend, tip: Tip) -> Expected:
    """What the chain left in force, event by event."""
    expected, changed = nothing_expected(), list[Touched]()
    follow(Tip(tip.seal.first()), backend.events(), changed)
    apply(expected, changed)
    return expected


def unsound(backend: Backend, found: Inspection | None = None) -> list[str]:
    """The tables in which a lookup would not find what is there.

    With what was ``found`` before, the largest table is only counted: what it is looked up for is verified anyway.
    """
    rows = None
    if found is not None:
        rows = len(found.expected["memories"]) + sum(place.table == "memories" for place in found.foreign)
        rows -= sum(place.table == "memories" for place in found.missing)
    return [table for table in TABLES if not backend.has_sound_index(table, rows if table == "memories" else None)]


def require_sound(doctored: Sequence[str], head: Head) -> None:
    """Stop every read when a lookup would not find what is there; opening the keep again mends that."""
    if doctored:
        where = f"the index of {', '.join(doctored)}"
        raise StoreTampered(
            f"Someone altered {where}: it does not list what is in the table.",
            code="index_altered",
            hint="Open the keep again: the index is made anew from the rows, which are as they were written.",
            where=where,
            since=known_good(head),
        )
