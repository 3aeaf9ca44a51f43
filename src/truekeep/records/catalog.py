"""The catalogue: what recall searches. Index cards and vectors of one keep, following every write of any process.

A card is part of its memory's sealed row. A memory whose card is missing or altered is described anew from its
verified text, so that a doctored index can hide nothing; and hits are only proposals, which the reader verifies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from truekeep.action import fingerprint
from truekeep.embed import Embedder, EmbedderError, GuardedEmbedder
from truekeep.search import NOWHERE, Card, Hit, Index, changed, describe, holds, pack, passage, without_vector
from truekeep.search import Entry as IndexEntry
from truekeep.statements import PROVABLE
from truekeep.stores.audit import Touched
from truekeep.stores.base import Row
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.types import Candidate, Memory, Standing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SCREENED_MODEL = "all-MiniLM-L6-v2"
_ACTING_TAGS = tuple(f"{label}:" for label in PROVABLE)
"""How the tags of memories begin that could act at all; the rule of influence decides whether they do."""


class Catalog:
    """Embeds, files and finds the memories of one keep."""

    def __init__(self, ledger: Ledger, load_embedder: Callable[[], Embedder | None]) -> None:
        self._ledger = ledger
        self._embedder = GuardedEmbedder(load_embedder)
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._acting = NOWHERE
        """Places of what could act."""
        self._dirty: set[int] = set()
        ledger.watch(self._note)

    @property
    def degraded(self) -> str:
        """Why recall goes by keywords alone, if the embedder could not be used."""
        return self._embedder.degraded

    # Filing

    def vectors(self, memories: Sequence[Candidate | Memory]) -> Iterator[tuple[int, NDArray[np.float32] | None]]:
        """The vectors of texts that are about to be stored, each with its place among them and in any order, so that
        work on one can begin while others are being embedded; an embedder that fails costs no write.
        """
        return self._embedder.stream([passage(memory.text, _speaker(memory)) for memory in memories], "passage")

    def is_screened(self) -> bool:
        """Whether the vectors are of the model that the learned screen was trained on."""
        embedder = self._embedder.ready()
        return embedder is not None and embedder.model_id.startswith(_SCREENED_MODEL)

    def card(self, memory: Memory, vector: NDArray[np.float32] | None) -> bytes:
        """The index card to store with a memory: what its text says, the values in it, its vector and that's model."""
        is_loose = memory.standing is Standing.HEARSAY and memory.approval is None
        values = fingerprint(memory.text, is_loose=is_loose, at=memory.as_of)
        embedder = self._embedder.ready()
        if embedder is None or vector is None:
            return described(memory).to_bytes(values=values)
        return described(memory).to_bytes(embedder.model_id, pack(vector), values)

    def reindex(self, *, batch: int = 64) -> Iterator[tuple[int, int]]:
        """Embed what the embedder in use has not embedded yet; yields how many are done of how many."""
        embedder = self._embedder.ready()
        if embedder is None:
            raise EmbedderError(self.degraded or "There is no embedder to index with.")
        cards = ((row.seq, row.card or b"") for row in self._ledger.current("memories"))
        places = without_vector(cards, embedder.model_id, embedder.dim)
        for start in range(0, len(places), batch):
            chosen = places[start : start + batch]
            self._reembed(embedder.model_id, chosen)
            yield min(start + batch, len(places)), len(places)

    def _reembed(self, model: str, places: Sequence[int]) -> None:
        rows = list(self._ledger.current("memories", places))
        memories = [memory_from(Sealed(row, verified=True)) for row in rows]
        vectors = dict(self.vectors(memories))
        if any(vector is None for vector in vectors.values()):
            raise EmbedderError(self.degraded)
        # Embedding takes long, so nobody waits for it; a row that was changed meanwhile is left as it is.
        with self._ledger.writing() as entry:
            for place, memory in enumerate(memories):
                entry.attach("memories", rows[place], self.card(memory, vectors[place]))
            entry.event("memories.reindexed", model=model, count=len(memories))

    # Finding

    def search(
        self, question: str, *, today: date, acting_only: bool = False, explain: bool = False
    ) -> Callable[[int], list[Hit]]:
        """Understand a question once; the answer gives the best k places. Proposals: the reader verifies them."""
        with self._ledger.reading(), self._lock:
            index = self._current()
            acting = self._acting
        allow = acting if acting_only else None
        query = index.understand(question, today=today, allow=allow)
        vector = self._question_vector(query.meaning)
        return lambda k: index.search(query, k, vector=vector, allow=allow, prefer=acting, explain=explain)

    def is_hearsay(self, seq: int) -> bool:
        """Whether the memory at that place is hearsay that nobody approved; known without reading it."""
        return not holds(self._acting, seq)

    def hearsay_count(self) -> int:
        """How many memories a search among what may act leaves out from the start."""
        return 0 if self._index is None else len(self._index) - len(self._acting)

    def _question_vector(self, meaning: str) -> NDArray[np.float32] | None:
        rows = self._embedder.embed([meaning], "query") if meaning.strip() else None
        return None if rows is None else rows[0]

    # Following

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._index is not None:
            places = {seq for table, seq, _ in changed if table == "memories"}
            with self._lock:
                self._dirty |= places

    def _current(self) -> Index:
        embedder = self._embedder.ready()
        if self._index is None or (embedder is not None and self._index.model_id != embedder.model_id):
            index = Index(model_id=embedder.model_id, dim=embedder.dim) if embedder else Index()
            self._acting = changed(NOWHERE, (), self._take_in(index, self._ledger.current("memories")))
            self._index = index
            self._dirty.clear()
        elif self._dirty:
            places = sorted(self._dirty)
            rows = list(self._ledger.current("memories", places))
            if gone := set(places).difference(row.seq for row in rows):
                self._index.remove(gone)
            self._acting = changed(self._acting, places, self._take_in(self._index, rows))
            self._dirty.clear()
        return self._index

    def _take_in(self, index: Index, rows: Iterable[Row]) -> list[int]:
        """Put rows into the index; gives the places of those that could act."""
        acting: list[int] = []
        unread = index.load(_entries(rows, acting))
        if unread:
            described = map(_described_row, self._ledger.current("memories", unread))
            index.load(described)
        return acting


def _entries(rows: Iterable[Row], acting: list[int]) -> Iterator[IndexEntry]:
    for seq, _, tag, _, _, card in rows:
        if tag.startswith(_ACTING_TAGS):
            acting.append(seq)
        yield seq, card or b""


def _described_row(row: Row) -> IndexEntry:
    return row.seq, described(memory_from(Sealed(row, verified=True))).to_bytes()


def described(memory: Memory) -> Card:
    """What the index knows of a memory's text."""
    day = memory.as_of.date()
    return describe(memory.text, speaker=_speaker(memory), thread=memory.origin.session, day=day)


def _speaker(memory: Candidate | Memory) -> str | None:
    """Who says it, where a conversation was stored turn by turn."""
    speaker = memory.metadata.get("speaker")
    return speaker if isinstance(speaker, str) else None
