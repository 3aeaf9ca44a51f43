"""What a database must offer to hold a keep: sealed rows and an append-only event table.

A backend moves bytes and nothing else. MACs, the chain, the set sum and the anchor are the ledger's
(``ledger.py``), so that every backend gets them in the same way.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from truekeep.errors import StoreError, StoreFull, StoreIOError, StoreReadOnly

TABLES = (
    "memories",
    "history",
    "queue",
    "tombstones",
    "answers",
    "rivals",
    "derived",
    "snapshots",
    "sessions",
    "observations",
    "marks",
    "tickets",
    "credits",
    "channels",
    "exposures",
    "working",
    "jobs",
    "incidents",
    "prompts",
    "notes",
    "grants",
    "entries",
)
"""The sealed tables. All have one shape, so one MAC and one verification serve them all."""


RESTRICTING = frozenset(
    {
        "tombstones",
        "answers",
        "rivals",
        "derived",
        "sessions",
        "observations",
        "marks",
        "tickets",
        "credits",
        "channels",
        "prompts",
    }
)
"""Tables in which a row that is lost would allow something: one that was altered there is as good as missing."""

CARDED = ("memories",)
"""Tables whose rows have an index card beside their content."""


class Row(NamedTuple):
    """A sealed row: its place, its identity, a tag to count and select by, its content and the MAC over all that.

    ``card`` is what the index knows of the content; it is read only where it is asked for.
    """

    seq: int
    id: str
    tag: str
    body: str
    mac: bytes
    card: bytes | None = None


class EventRow(NamedTuple):
    """One link of the audit chain as stored."""

    seq: int
    at: str
    kind: str
    body: str
    state: bytes
    hash: bytes


class Backend(Protocol):
    """One keep's database. Not thread-safe by itself: the ledger serialises."""

    def writing(self) -> AbstractContextManager[None]:
        """A write transaction that excludes other writers from its first moment; all or nothing."""

    def reading(self) -> AbstractContextManager[None]:
        """A consistent view for several reads."""

    def changes(self) -> int:
        """A number that differs when another connection has committed since the last look."""

    def insert(self, table: str, row: Row) -> None:
        """Add a row at its place."""

    def replace(self, table: str, row: Row) -> None:
        """Put a row in the place of the one with its ``seq``."""

    def remove(self, table: str, seq: int) -> None:
        """Take the row at that place away."""

    def next_seq(self, table: str) -> int:
        """The place after the last one; a place is never given out twice while its row is there."""

    def by_id(self, table: str, row_id: str) -> Row | None:
        """The row of that id."""

    def by_seqs(self, table: str, seqs: Sequence[int], *, cards: bool = False) -> list[Row]:
        """The rows at those places, in that order, missing ones left out."""

    def glance(self, changes: int, seq: int, link: bytes, table: str, seqs: Sequence[int]) -> list[Row] | None:
        """The rows at those places, outside of any view; none if anything changed.

        That is, if the number of changes is another one by now, or if the newest event is not that one.
        """

    def rows(self, table: str, *, after: int = 0, limit: int | None = None, cards: bool = False) -> Iterator[Row]:
        """Rows in order of place."""

    def count(self, table: str) -> int:
        """How many rows."""

    def append(self, event: EventRow) -> None:
        """Add a link to the chain."""

    def restate(self, event: EventRow) -> None:
        """Give the event of that number another body; everything else of it stays."""

    def drop_events(self) -> None:
        """Take the whole chain away, because another one is put in its place."""

    def events(self, *, after: int = 0, limit: int | None = None) -> Iterator[EventRow]:
        """Events in order."""

    def event(self, seq: int) -> EventRow | None:
        """The event with that number."""

    def last_event(self) -> EventRow | None:
        """The newest event."""

    def has_sound_index(self, table: str) -> bool:
        """Whether the indexes that the database keeps list exactly what is in the table."""

    def rebuild_index(self, table: str) -> None:
        """Make the table's indexes anew from the rows, inside a write transaction."""

    def mend(self) -> list[str]:
        """Put the tables' own definitions back as they should be, inside a write transaction; says what was not."""

    def scrub(self) -> bool:
        """Leave no bytes of removed rows behind; false if others kept that from being complete."""

    def describe(self) -> dict[str, str]:
        """Facts for ``truekeep doctor``: engine, version, cipher, schema."""

    def close(self) -> None:
        """Let go of the database."""


def transfer(source: Backend, target: Backend) -> None:
    """Copy every row and event as it is: what seals them is bound to the keep, and not to where it lies."""
    for table in TABLES:
        for row in source.rows(table, cards=True):
            target.insert(table, row)
    for event in source.events():
        target.append(event)


def clear(backend: Backend) -> None:
    """Take every row and event away, inside a write transaction: something else is put in their place."""
    for table in TABLES:
        for row in list(backend.rows(table)):
            backend.remove(table, row.seq)
    backend.drop_events()


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def failure(number: int | None, message: str, otherwise: type[StoreError] = StoreIOError) -> StoreError:
    """The error for an ``errno``; the hint of each kind sends people to another place, so they are kept apart."""
    if number in _FULL:
        return StoreFull(message)
    if number in _FORBIDDEN:
        return StoreReadOnly(message)
    return StoreIOError(message) if number == errno.EIO else otherwise(message)
