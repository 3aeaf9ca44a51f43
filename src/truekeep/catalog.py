"""The catalogue: what recall searches. Index cards and vectors of one keep, following every write of any process.

A card is part of its memory's sealed row. A memory whose card is missing or altered is described anew from its
verified text, so that a doctored index can hide nothing; and hits are only proposals, which the reader verifies.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from truekeep.action import fingerprint
from truekeep.embed import Embedder, EmbedderError
from truekeep.search import NOWHERE, Card, Hit, Index, changed, describe, holds, pack, passage, without_vector
from truekeep.search import Entry as IndexEntry
from truekeep.stores.audit import Touched
from truekeep.stores.base import Row
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.types import Candidate, Memory, Standing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ACTING = frozenset({Standing.OWNER.label, Standing.ENROLLED.label})
_SCREENED_MODEL = "all-MiniLM-L6-v2"
_log = logging.getLogger("truekeep.catalog")


class Catalog:
    """Embeds, files and finds the memories of one keep."""

    def __init__(self, ledger: Ledger, load_embedder: Callable[[], Embedder | None]) -> None:
        self._ledger = ledger
        self._load_embedder = load_embedder
        self._embedder: Embedder | None = None
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._acting = NOWHERE
        """Places of what could act."""
        self._dirty: set[int] = set()
        self.degraded = ""
        """Why recall goes by keywords alone, if the embedder could not be used."""
        ledger.watch(self._note)

    # Filing

    def vectors(self, memories: Sequence[Candidate | Memory]) -> list[NDArray[np.float32] | None]:
        """The vectors of texts that are about to be stored; an embedder that fails costs no write."""
        embedder = self._ready()
        if embedder is None or not memories:
            return [None] * len(memories)
        try:
            return list(embedder.embed([passage(memory.text, _speaker(memory)) for memory in memories], "passage"))
        except EmbedderError as error:
            self._degrade(error)
            return [None] * len(memories)

    def is_screened(self) -> bool:
        """Whether the vectors are of the model that the learned screen was trained on."""
        return self._embedder is not None and self._embedder.model_id.startswith(_SCREENED_MODEL)

    def card(self, memory: Memory, vector: NDArray[np.float32] | None) -> bytes:
        """The index card to store with a memory: what its text says, the values in it, its vector and that's model."""
        is_loose = memory.standing is Standing.HEARSAY and memory.approval is None
        values = fingerprint(memory.text, is_loose=is_loose, at=memory.as_of)
        if self._embedder is None or vector is None:
            return _described(memory).to_bytes(values=values)
        return _described(memory).to_bytes(self._embedder.model_id, pack(vector), values)

    def reindex(self, *, batch: int = 64) -> Iterator[tuple[int, int]]:
        """Embed what the embedder in use has not embedded yet; yields how many are done of how many."""
        embedder = self._ready()
        if embedder is None:
            raise EmbedderError(self.degraded or "There is no embedder to index with.")
        cards = ((row.seq, row.card or b"") for row in self._ledger.current("memories"))
        places = without_vector(cards, embedder.model_id, embedder.dim)
        for start in range(0, len(places), batch):
            chosen = places[start : start + batch]
            self._reembed(embedder, chosen)
            yield min(start + batch, len(places)), len(places)

    def _reembed(self, embedder: Embedder, places: Sequence[int]) -> None:
        with self._ledger.writing() as entry:
            rows = list(self._ledger.current("memories", places))
            memories = [memory_from(Sealed(row, verified=True)) for row in rows]
            vectors = embedder.embed([passage(memory.text, _speaker(memory)) for memory in memories], "passage")
            for row, memory, vector in zip(rows, memories, vectors, strict=True):
                entry.attach("memories", row, self.card(memory, vector))
            entry.event("memories.reindexed", model=embedder.model_id, count=len(memories))

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
        embedder = self._ready()
        if embedder is None or not meaning.strip():
            return None
        try:
            vector: NDArray[np.float32] = embedder.embed([meaning], "query")[0]
        except EmbedderError as error:
            self._degrade(error)
            return None
        return vector

    def _ready(self) -> Embedder | None:
        with self._lock:
            if self._embedder is None and not self.degraded:
                try:
                    self._embedder = self._load_embedder()
                except EmbedderError as error:
                    self._degrade(error)
        return self._embedder

    def _degrade(self, error: EmbedderError) -> None:
        self.degraded = str(error)
        _log.warning("embedder failed, recall goes by keywords", extra={"code": error.code})

    # Following

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._index is not None:
            places = {seq for table, seq, _ in changed if table == "memories"}
            with self._lock:
                self._dirty |= places

    def _current(self) -> Index:
        if self._index is None:
            embedder = self._ready()
            index = Index(model_id=embedder.model_id, dim=embedder.dim) if embedder else Index()
            self._acting = changed(NOWHERE, (), self._take_in(index, self._ledger.current("memories")))
            self._index = index
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
        if may_be_acting(tag):
            acting.append(seq)
        yield seq, card or b""


def _described_row(row: Row) -> IndexEntry:
    return row.seq, _described(memory_from(Sealed(row, verified=True))).to_bytes()


def may_be_acting(tag: str) -> bool:
    """Whether a memory with that tag could act at all; the rule of influence decides whether it does."""
    standing = tag.partition(":")[0]
    return standing in _ACTING or standing.endswith("+")


def _described(memory: Memory) -> Card:
    day = memory.as_of.date()
    return describe(memory.text, speaker=_speaker(memory), thread=memory.origin.session, day=day)


def _speaker(memory: Candidate | Memory) -> str | None:
    """Who says it, where a conversation was stored turn by turn."""
    speaker = memory.metadata.get("speaker")
    return speaker if isinstance(speaker, str) else None
