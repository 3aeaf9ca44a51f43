"""Marks: what of every memory above hearsay a snapshot's order needs, read from its index card.

No text is read for it, so that the first snapshot of a large keep costs what it shows. It says which memories to look
at, and in which order; what one says, and what it may do, is the reader's to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from truekeep.records.catalog import described
from truekeep.search import ESSENTIAL, KINDS, PINNED, marks_in
from truekeep.stores.ledger import Sealed
from truekeep.stores.records import memory_from
from truekeep.stores.table_view import TableChanges
from truekeep.trust.origin import is_hearsay_tag

if TYPE_CHECKING:
    from truekeep.stores.base import Row
    from truekeep.stores.ledger import Ledger

_KEPT = 7 * ESSENTIAL | PINNED
_OF_NUMBER = ("", *KINDS, "", "")
"""The essentials by the three bits of a card that name one."""


class CardMark(NamedTuple):
    """What the card of a memory says beside its words."""

    flags: int
    said: int

    @property
    def essential(self) -> str:
        """Which of the things that a prompt must not miss the owner seems to say in it."""
        return _OF_NUMBER[self.flags // ESSENTIAL & 7]

    @property
    def pinned(self) -> bool:
        """Whether the owner wants it in every prompt."""
        return bool(self.flags & PINNED)


PLAIN = CardMark(0, 1)
"""Of most memories: said once, neither pinned nor essential."""


class Marks:
    """The marks of one keep's memories by their place, following every write of any process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._changes = TableChanges(ledger, "memories")
        self._known: dict[int, CardMark] = {}
        self._shared = {(0, 1): PLAIN}
        """Few marks differ, so that one object stands for all that are equal."""

    def now(self) -> Mapping[int, CardMark]:
        """The marks now: the same mapping until one of them changes, and another one then."""
        with self._changes.taken() as changed:
            if changed is None:
                self._known = dict(self._read(None))
            elif changed.places:
                kept = {place: mark for place, mark in self._known.items() if place not in changed.places}
                self._known = kept | dict(self._read(sorted(changed.places)))
        return self._known

    def _read(self, places: Sequence[int] | None) -> Iterator[tuple[int, CardMark]]:
        for row in self._ledger.current("memories", places):
            if not is_hearsay_tag(row.tag):
                flags, said = marks_in(row.card or b"") or _from_text(row)
                key = flags & _KEPT, said
                yield row.seq, self._shared.get(key) or self._shared.setdefault(key, CardMark(*key))


def _from_text(row: Row) -> tuple[int, int]:
    """The same where the card is missing or of another version: a doctored card hides nothing."""
    card = described(memory_from(Sealed(row, verified=True)))
    return card.flags, card.said
