"""What an intruder does to the stored bytes of the laden keep: P7. Each attack is put right again before the step ends.

The intruder holds the database and the key that encrypts it, but not those that seal its rows. While a row is altered,
replayed or gone the keep refuses to serve, or blocks what it can no longer vouch for; once every byte is back it
serves what it served before.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.promises.record import PromiseBroken
from tests.promises.side import Side
from tests.promises.store import Intruder, intruding
from tests.promises.twins import Twins
from tests.promises.vocabulary import POISON, wordings
from truekeep.errors import StoreError
from truekeep.stores.base import TABLES

_LIE = wordings(POISON[0])[0]
_QUERY = "Northwind account"


@dataclass(frozen=True)
class Alter:
    """Rewrite a memory's words, and who said them, in place."""

    which: int

    def run(self, twins: Twins) -> None:
        side = twins.laden
        with _intruding(twins) as intruder:
            if not (rows := intruder.rows("memories")):
                return
            row = rows[self.which % len(rows)]
            known = side.memories().get(row.id)
            intruder.put("memories", intruder.forged(row, known.text[:-1] if known else "", _LIE[:-1]))
            _refuses(side, row.id if known else None)
            intruder.put("memories", row)


@dataclass(frozen=True)
class Replay:
    """Put back a row as it was earlier: genuine bytes, of another time."""

    which: int

    def run(self, twins: Twins) -> None:
        side = twins.laden
        with _intruding(twins) as intruder:
            now = {(table, row.seq): row for table in TABLES for row in intruder.rows(table)}
            known, side.relics = side.relics, now
            older = [place for place, row in known.items() if place in now and now[place] != row]
            if not older:
                return
            table, seq = older[self.which % len(older)]
            intruder.put(table, known[table, seq])
            _refuses(side, now[table, seq].id if table == "memories" else None)
            intruder.put(table, now[table, seq])


@dataclass(frozen=True)
class Drop:
    """Take a row away."""

    which: int

    def run(self, twins: Twins) -> None:
        with _intruding(twins) as intruder:
            rows = [(table, row) for table in TABLES for row in intruder.rows(table)]
            if rows:
                table, row = rows[self.which % len(rows)]
                intruder.remove(table, row)
                _refuses(twins.laden, None)
                intruder.put(table, row)


@dataclass(frozen=True)
class RollBack:
    """Put the whole store back to what it was when this was done last, anchors aside."""

    def run(self, twins: Twins) -> None:
        side = twins.laden
        if side.is_in_database:
            return  # a database is rolled back as a whole: tests/postgres/test_rollback.py
        data, old, new = (side.home / name for name in ("data", "data-old", "data-new"))
        head = side.keep._ledger.head.seq
        side.keep.close()
        if old.exists() and head > side.kept_at:
            data.rename(new)
            shutil.copytree(old, data)
            is_noticed = not side.can_be_reopened() or _is_noticed(side, None)
            side.keep.close()
            shutil.rmtree(data)
            new.rename(data)
            if not is_noticed:
                raise PromiseBroken(f"P7: a store that was rolled back from event {head} to {side.kept_at} is served")
        shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(data, old)
        side.kept_at, side.keep = head, side.open()
        twins.plain.reopen()


@contextmanager
def _intruding(twins: Twins) -> Iterator[Intruder]:
    """Let somebody at the bytes, with the keep open all the time; afterwards everything is as it was."""
    side = twins.laden
    before = _served(side)
    with intruding(side) as intruder:
        yield intruder
    side.reopen()
    twins.plain.reopen()  # the one life has as many restarts as the other
    if _served(side) != before:
        raise PromiseBroken("P7: with every byte back in its place the keep serves something else")


def _served(side: Side) -> list[tuple[str, str, bool]]:
    return [(one["id"], one["content"], one["may_act"]) for one in side.keep.get_memories()]


def _refuses(side: Side, memory_id: str | None) -> None:
    """Neither the keep that is open nor one that is opened now serves what was done to it as if it were its own."""
    while_open = _is_noticed(side, memory_id)
    at_opening = not side.can_be_reopened() or _is_noticed(side, memory_id)
    if not while_open or not at_opening:
        raise PromiseBroken(f"P7: an altered store is served as its own, {'opened' if while_open else 'being open'}")


def _is_noticed(side: Side, memory_id: str | None) -> bool:
    """Whether reads are refused, or the one memory is blocked wherever it would be shown."""
    try:
        listed = {one["id"]: one for one in side.keep.get_memories()}
        hits = side.keep.recall(_QUERY, k=50, background=True)
        taken = side.keep.audit.verify()
    except StoreError:
        return True
    told = [str(one["content"]) for one in listed.values()] + [hit.text for hit in hits]
    if _LIE in told and _LIE not in {known.text for known in side.written.values()}:
        raise PromiseBroken(f"P7: the keep tells {_LIE!r}, which somebody put into its bytes")
    if memory_id is not None and memory_id in listed and not listed[memory_id]["blocked"]:
        raise PromiseBroken(f"P7: the altered memory {memory_id} is served as it stands")
    return not taken.ok
