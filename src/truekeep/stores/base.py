"""What a database must offer to hold a keep: sealed rows and an append-only event table.

A backend moves bytes and nothing else. MACs, the chain, the set sum and the anchor are the ledger's
(``ledger.py``), so that every backend gets them in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

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
        """The rows at those places, in any order, missing ones left out."""

    def rows(self, table: str, *, after: int = 0, limit: int | None = None, cards: bool = False) -> Iterator[Row]:
        """Rows in order of place."""

    def tagged(self, table: str, tag: str, limit: int, *, newest: bool = False) -> list[Row]:
        """Rows with exactly that tag, in order of place; ``newest`` begins at the last place."""

    def tags_among(self, table: str, tags: Sequence[str]) -> set[str]:
        """Those of the tags that a row has."""

    def count(self, table: str, tag: str | None = None) -> int:
        """How many rows, or how many with that tag."""

    def append(self, event: EventRow) -> None:
        """Add a link to the chain."""

    def events(self, *, after: int = 0, limit: int | None = None) -> Iterator[EventRow]:
        """Events in order."""

    def event(self, seq: int) -> EventRow | None:
        """The event with that number."""

    def last_event(self) -> EventRow | None:
        """The newest event."""

    def has_sound_index(self, table: str, rows: int | None = None) -> bool:
        """Whether looking rows up by id or tag finds exactly what is in the table.

        With ``rows``, the number of rows known to be there, only whether that many can be looked up by id.
        """

    def rebuild_index(self, table: str) -> None:
        """Make what rows are looked up by anew from the rows, inside a write transaction."""

    def scrub(self) -> bool:
        """Leave no bytes of removed rows behind; false if others kept that from being complete."""

    def describe(self) -> dict[str, str]:
        """Facts for ``truekeep doctor``: engine, version, cipher, schema."""

    def close(self) -> None:
        """Let go of the database."""
