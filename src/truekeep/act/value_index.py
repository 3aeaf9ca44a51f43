"""What a keep remembers, by value: where a call's arguments could have come from. Follows every write."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence

from truekeep.action import Kept, KeptIndex, Postings, fingerprint
from truekeep.search import values_in
from truekeep.stores.audit import Touched
from truekeep.stores.base import Row
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.types import Standing


class Remembered:
    """The memories of one keep as the act boundary looks them up: what stands above hearsay, and hearsay."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._places: dict[int, KeptIndex] = {}
        self._dirty: set[int] = set()
        self._is_built = False
        self._proven = KeptIndex(postings=Postings(), load=self._load)
        self._hearsay = KeptIndex(is_loose=True, postings=Postings(), load=self._load)
        ledger.watch(self._note)

    def indexes(self) -> tuple[KeptIndex, KeptIndex]:
        """What stands above hearsay, and hearsay."""
        with self._ledger.reading(), self._lock:
            if not self._is_built:
                self._is_built = True
                self._fill(self._ledger.current("memories"))
            elif self._dirty:
                dirty, self._dirty = self._dirty, set()
                self._refresh(dirty)
        return self._proven, self._hearsay

    def _fill(self, rows: Iterable[Row]) -> None:
        prints: dict[bool, list[tuple[int, bytes]]] = {False: [], True: []}
        for row in rows:
            is_hearsay = _is_hearsay(row)
            self._places[row.seq] = self._hearsay if is_hearsay else self._proven
            prints[is_hearsay].append((row.seq, _print(row, is_hearsay)))
        self._proven.postings.fill(prints[False])
        self._hearsay.postings.fill(prints[True])

    def _refresh(self, places: Iterable[int]) -> None:
        for place in places:
            if (index := self._places.pop(place, None)) is not None:
                index.forget(place)
                index.postings.remove(place)
        for row in self._ledger.current("memories", sorted(places)):
            is_hearsay = _is_hearsay(row)
            index = self._places[row.seq] = self._hearsay if is_hearsay else self._proven
            index.postings.put(row.seq, _print(row, is_hearsay))

    def _load(self, places: Sequence[int]) -> Iterator[tuple[int, Kept]]:
        for place, sealed in self._ledger.at("memories", places).items():
            if sealed.verified:
                memory = memory_from(sealed)
                origin = memory.origin
                yield place, Kept(memory.id, memory.text, memory.as_of, origin.channel, origin.principal)

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._is_built:
            with self._lock:
                self._dirty |= {seq for table, seq, _ in changed if table == "memories"}


def _is_hearsay(row: Row) -> bool:
    return row.tag.partition(":")[0] == Standing.HEARSAY.label


def _print(row: Row, is_hearsay: bool) -> bytes:
    """The values in a memory as its card has them; made anew from the text where the card is gone or altered."""
    if (values := values_in(row.card)) is not None:
        return values
    memory = memory_from(Sealed(row, verified=True))
    return fingerprint(memory.text, is_loose=is_hearsay, at=memory.as_of)
