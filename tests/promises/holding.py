"""What has to hold of each keep by itself after every step, whatever was done to it: P5, P6 and P8.

**P5.** See ``screening``.

**P6.** A session's snapshot is the same bytes until somebody refreshes it. The one exception is what is forgotten or
erased: a snapshot that shows it goes as a whole, and a new one is made when it is asked for. A new snapshot tells
nothing that the keep no longer holds.

**P8.** The audit log verifies, and every event that was there is there still, with the same hash. A memory that was
acknowledged is in the store until an event says what became of it; and where no event was written no row changed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from tests.promises.record import PromiseBroken
from tests.promises.screening import check_screens
from tests.promises.side import Side
from tests.promises.twins import Twins
from truekeep import Keep
from truekeep.audit.log import ERASURE, FORGETTING
from truekeep.stores.base import TABLES
from truekeep.types import Memory

_TAKES_OUT = frozenset({ERASURE, "incident.rewound", "incident.revoked", "incident.undone"})
"""Events that take memories out without naming each."""
_TAKES_SNAPSHOTS = frozenset({ERASURE, FORGETTING})
_VERIFIED_EVERY = 5
"""Steps from one look at the whole log to the next."""


@dataclass
class Book:
    """What was seen of one keep after the last step."""

    head: int = 0
    hashes: dict[int, str] = field(default_factory=dict)
    """Of every event that was ever seen."""
    memories: set[str] = field(default_factory=set)
    rows: bytes = b""


def hold(twins: Twins, step: int) -> None:
    """Hold both keeps to what they promise each for itself."""
    for side in twins.sides:
        book = twins.books.setdefault(side.name, Book())
        fresh = side.keep.audit.events(after=book.head)
        memories = side.memories()
        _nothing_lost(side, book, memories, fresh)
        _snapshots_stay(side, memories, {event.kind for event in fresh})
        check_screens(side)
        if step % _VERIFIED_EVERY == 0:
            check_log(side, book)
        book.head, book.memories = side.keep._ledger.head.seq, set(memories)


def check_log(side: Side, book: Book) -> None:
    """The whole log verifies, and goes on from what was seen of it."""
    found = side.keep.audit.verify()
    if not found.ok:
        raise PromiseBroken(f"P8: the {side.name} keep no longer verifies: {found.problems}")
    hashes = {event.seq: event.hash.hex() for event in side.keep._ledger.events()}
    if rewritten := {seq for seq, known in book.hashes.items() if hashes.get(seq) != known}:
        raise PromiseBroken(f"P8: the events {sorted(rewritten)[:5]} of the {side.name} keep are not what they were")
    book.hashes = hashes


def _nothing_lost(side: Side, book: Book, memories: dict[str, Memory], fresh: list[Any]) -> None:
    rows = rows_of(side.keep)
    if not fresh and book.rows and rows != book.rows:
        raise PromiseBroken(f"P8: rows of the {side.name} keep changed, and no event tells of it")
    book.rows = rows
    told, kinds = " ".join(str(event.body) for event in fresh), [event.kind for event in fresh]
    if not _TAKES_OUT.isdisjoint(kinds):
        return
    gone = [one for one in book.memories - memories.keys() if one not in told]
    # What was derived from a deleted memory waits for a person, and the log names what waits.
    waits = {item.memory.id for item in side.keep.review.list(None) if item.id in told} if gone else set()
    if lost := [one for one in gone if one not in waits]:
        raise PromiseBroken(f"P8: {side.written.get(lost[0])} is gone, and no event of {kinds} says why")


def rows_of(keep: Keep) -> bytes:
    """A digest of every sealed row as it is stored."""
    backend, digest = keep._ledger._backend, hashlib.sha256()
    with backend.reading():
        for table in TABLES:
            for row in backend.rows(table):
                digest.update(f"{table} {row.seq} {row.id}".encode() + row.mac)
    return digest.digest()


def _snapshots_stay(side: Side, memories: dict[str, Memory], kinds: set[str]) -> None:
    for session, frozen in list(side.frozen.items()):
        if side.keep._ledger.get("snapshots", session) is None:
            if kinds.isdisjoint(_TAKES_SNAPSHOTS):
                raise PromiseBroken(f"P6: the snapshot of {session} is gone after {sorted(kinds)}")
            del side.frozen[session]
        elif (now := side.keep.snapshot(session)).text != frozen:
            raise PromiseBroken(f"P6: the snapshot of {session} reads {now.text!r}, and was frozen as {frozen!r}")
