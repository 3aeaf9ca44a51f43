"""The catalogue: what recall searches. Index cards and vectors of one keep, following every write of any process.

A card is part of its memory's sealed row. A memory whose card is missing or altered is described anew from its
verified text, so that a doctored index can hide nothing; and hits are only proposals, which the reader verifies.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from truekeep.action import fingerprint
from truekeep.cards import Card, card_in
from truekeep.embed import Embedder, EmbedderError
from truekeep.search import Entry as IndexEntry
from truekeep.search import Hit, Index, describe, pack, passage
from truekeep.stores.audit import Touched
from truekeep.stores.base import Row
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.types import Candidate, Memory, Standing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        self._standings: dict[int, str] = {}
        self._acting: Any = ()
        """Places of what may act; an array once the index is there."""
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
        """The index card to store with a memory: what its text says, and its vector with the model that made it."""
        model = self._embedder.model_id if self._embedder and vector is not None else ""
        is_loose = memory.standing is Standing.HEARSAY and memory.approval is None
        values = fingerprint(memory.text, is_loose=is_loose, at=memory.as_of)
        return Card(_describe(memory), values, model.encode(), pack(vector) if vector is not None else b"").to_bytes()

    def reindex(self, *, batch: int = 64) -> Iterator[tuple[int, int]]:
        """Embed what the embedder in use has not embedded yet; yields how many are done of how many."""
        embedder = self._ready()
        if embedder is None:
            raise EmbedderError(self.degraded or "There is no embedder to index with.")
        model = embedder.model_id.encode()
        places = [row.seq for row in self._ledger.current("memories") if card_in(row.card).model != model]
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
        return not may_be_acting(self._standings.get(seq, ""))

    def hearsay_count(self) -> int:
        """How many memories a search among what may act leaves out from the start."""
        return len(self._standings) - len(self._acting)

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
            self._index = Index(model_id=embedder.model_id, dim=embedder.dim) if embedder else Index()
            self._take_in(self._ledger.current("memories"))
        elif self._dirty:
            places, self._dirty = sorted(self._dirty), set()
            memories = list(self._ledger.current("memories", places))
            if gone := set(places).difference(row.seq for row in memories):
                self._index.remove(gone)
            for seq in places:
                self._standings.pop(seq, None)
            self._take_in(memories, places)
        return self._index

    def _take_in(self, memories: Iterable[Row], places: Sequence[int] | None = None) -> None:
        if self._index is not None:
            self._index.load(self._entries(memories))
        self._note_acting(places)

    def _note_acting(self, places: Sequence[int] | None) -> None:
        import numpy as np  # noqa: PLC0415 - loaded with the index, not with the keep

        looked_at = self._standings if places is None else places
        acting = sorted(seq for seq in looked_at if may_be_acting(self._standings.get(seq, "")))
        found = np.array(acting, dtype=np.int64)
        if places is not None:
            found = np.union1d(np.setdiff1d(self._acting, np.array(places, dtype=np.int64)), found)
        self._acting = found

    def _entries(self, memories: Iterable[Row]) -> Iterator[IndexEntry]:
        model = self._index.model_id.encode() if self._index and self._index.model_id else None
        for row in memories:
            self._standings[row.seq] = row.tag
            described, _, made_by, vector = card_in(row.card)
            if not described:
                described = _describe(memory_from(Sealed(row, verified=True)))
            yield IndexEntry(row.seq, described, vector if made_by == model else None)


def may_be_acting(tag: str) -> bool:
    """Whether a memory with that tag could act at all; the rule of influence decides whether it does."""
    standing = tag.partition(":")[0]
    return standing.endswith("+") or standing in (Standing.OWNER.label, Standing.ENROLLED.label)


def _describe(memory: Memory) -> bytes:
    day = memory.as_of.date()
    return describe(memory.text, speaker=_speaker(memory), thread=memory.origin.session, day=day).to_bytes()


def _speaker(memory: Candidate | Memory) -> str | None:
    """Who says it, where a conversation was stored turn by turn."""
    speaker = memory.metadata.get("speaker")
    return speaker if isinstance(speaker, str) else None
