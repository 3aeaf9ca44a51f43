"""What a keep remembers, by value: where a call's arguments could have come from. Follows every write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from truekeep.search import values_in
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.stores.table_view import TableChanges
from truekeep.trust.flow.stored import StoredIndex, StoredText, ValuePostings, fingerprint
from truekeep.trust.origin import is_hearsay_tag

if TYPE_CHECKING:
    from truekeep.stores.base import Row


class MemoryValueIndex:
    """The memories of one keep as the act boundary looks them up: what stands above hearsay, and hearsay."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._places: dict[int, StoredIndex] = {}
        self._changes = TableChanges(ledger, "memories")
        self._proven = StoredIndex(postings=ValuePostings(), load=self._load)
        self._hearsay = StoredIndex(postings=ValuePostings(), load=self._load)

    def indexes(self) -> tuple[StoredIndex, StoredIndex]:
        """What stands above hearsay, and hearsay."""
        with self._changes.taken() as changed:
            if changed is None:
                self._fill(self._ledger.current("memories"))
            elif changed.places:
                self._refresh(changed.places)
        return self._proven, self._hearsay

    def _fill(self, rows: Iterable[Row]) -> None:
        prints: dict[bool, list[tuple[int, bytes]]] = {False: [], True: []}
        for row in rows:
            is_hearsay = is_hearsay_tag(row.tag)
            self._places[row.seq] = self._hearsay if is_hearsay else self._proven
            prints[is_hearsay].append((row.seq, _print(row)))
        self._proven.postings.fill(prints[False])
        self._hearsay.postings.fill(prints[True])

    def _refresh(self, places: Iterable[int]) -> None:
        for place in places:
            if (index := self._places.pop(place, None)) is not None:
                index.forget(place)
                index.postings.remove(place)
        for row in self._ledger.current("memories", sorted(places)):
            index = self._places[row.seq] = self._hearsay if is_hearsay_tag(row.tag) else self._proven
            index.postings.put(row.seq, _print(row))

    def _load(self, places: Sequence[int]) -> Iterator[tuple[int, StoredText]]:
        for place, sealed in self._ledger.at("memories", places).items():
            if sealed.verified:
                memory = memory_from(sealed)
                origin = memory.origin
                yield place, StoredText(memory.id, memory.text, memory.as_of, origin.principal or origin.channel)


def _print(row: Row) -> bytes:
    """The values in a memory as its card has them; made anew from the text where the card is gone or altered."""
    if (values := values_in(row.card)) is not None:
        return values
    memory = memory_from(Sealed(row, verified=True))
    return fingerprint(memory.text, memory.as_of)
