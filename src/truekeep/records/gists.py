"""The search of gists: what the agent's readings add to what the owner's words find, and nothing they take away.

Gists have an index of their own, and what only a gist finds comes behind all that the words find. A model that reads
badly, or on purpose wrongly, can therefore neither push a memory down nor put another one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from truekeep import search
from truekeep.search import describe
from truekeep.stores.records import memory_from
from truekeep.stores.table_view import TableChanges

if TYPE_CHECKING:
    from truekeep.records.catalog import Catalog
    from truekeep.search import Hit, Index
    from truekeep.stores.ledger import Ledger


class Gists:
    """Finds the memories of one keep by the gists beside them; read when they are first needed, then followed."""

    def __init__(self, ledger: Ledger, catalog: Catalog) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._changes = TableChanges(ledger, "memories")
        self._index: Index | None = None

    def behind(self, found: Sequence[Hit], k: int, question: str, *, today: date, explain: bool = False) -> list[Hit]:
        """The hits that the words gave and, where they are fewer than k, those of gists behind them."""
        hits = list(found)
        if len(hits) >= k:
            return hits
        with self._ledger.reading():
            index = self._current()
        least = hits[-1].score if hits else 1.0
        known = {seq for hit in hits for seq in (hit.seq, *hit.duplicates)}
        more = index.search(index.understand(question, today=today), k, explain=explain)
        hits += [replace(hit, score=min(hit.score, least), duplicates=()) for hit in more if hit.seq not in known]
        return hits[:k]

    def _current(self) -> Index:
        with self._changes.taken() as changed:
            places = self._catalog.gist_places()
            if changed is None or self._index is None:
                self._index = search.Index()
                self._take_in(self._index, places)
            elif changed.places:
                self._index.remove(changed.places)
                self._take_in(self._index, places & changed.places)
        return self._index

    def _take_in(self, index: Index, places: Iterable[int]) -> None:
        """Read the rows that have a gist, and no others: most keeps have none."""
        rows = self._ledger.at("memories", sorted(places))
        memories = [memory_from(sealed) for sealed in rows.values() if sealed.verified]
        gists = ((memory.seq, memory.gist) for memory in memories)
        index.load((seq, describe(gist.text).to_bytes()) for seq, gist in gists if gist is not None)
