"""The catalogue: what recall searches. Index cards and vectors of one keep, following every write of any process.

A card is part of its memory's sealed row. A memory whose card is missing or altered is described anew from its
verified text, so that a doctored index can hide nothing; and hits are only proposals, which the reader verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from truekeep import search
from truekeep.embed import Embedder, EmbedderError, GuardedEmbedder
from truekeep.search import (
    HAS_GIST,
    PINNED,
    VERSION,
    Card,
    describe,
    is_outdated,
    marks_in,
    passage,
    renewed,
    windows,
)
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.stores.table_view import Changed, TableChanges
from truekeep.trust.flow.stored import fingerprint
from truekeep.trust.origin import PROVABLE, is_hearsay_tag

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truekeep.search import Entry as IndexEntry
    from truekeep.search import Hit, Index
    from truekeep.search.places import Places
    from truekeep.stores.base import Row
from truekeep.types import Candidate, Memory, Standing

_ACTING_TAGS = tuple(f"{label}:" for label in PROVABLE)
"""How the tags of memories begin that could act at all; the rule of influence decides whether they do."""


_RENEWED_AT_ONCE = 1_000
"""Cards that are made anew in one transaction, so that writers get in between."""


class Catalog:
    """Embeds, files and finds the memories of one keep."""

    def __init__(self, ledger: Ledger, load_embedder: Callable[[], Embedder | None]) -> None:
        self._ledger = ledger
        self._embedder = GuardedEmbedder(load_embedder)
        self._changes = TableChanges(ledger, "memories")
        self._index: Index | None = None
        self._acting: Places | None = None
        """Places of what could act, as soon as somebody searched."""
        self._with_gist: frozenset[int] = frozenset()
        """Places of what stands above hearsay and has somebody's reading beside it."""
        self._is_behind = True
        """Whether something may have no vector by the embedder in use; nobody has looked yet."""

    @property
    def degraded(self) -> str:
        """Why recall goes by keywords alone, if the embedder could not be used."""
        return self._embedder.degraded

    # Filing

    def vectors(self, memories: Sequence[Candidate | Memory]) -> Iterator[tuple[int, NDArray[np.float32] | None]]:
        """The vectors of texts that are about to be stored, each with its place among them and in any order, so that
        work on one can begin while others are being embedded; an embedder that fails costs no write.

        A text has a row for each of its windows, the first for the whole.
        """
        cut = [_windows(passage(_asked(memory), _speaker(memory))) for memory in memories]
        owners = [place for place, texts in enumerate(cut) for _ in texts]
        made: dict[int, list[tuple[int, NDArray[np.float32] | None]]] = {}
        for window, vector in self._embedder.stream([text for texts in cut for text in texts], "passage"):
            rows = made.setdefault(owners[window], [])
            rows.append((window, vector))
            if len(rows) == len(cut[owners[window]]):
                yield owners[window], _stacked(made.pop(owners[window]))

    def card(self, memory: Memory, vector: NDArray[np.float32] | None) -> bytes:
        """The index card to store with a memory: what its text says, the values in it, its vector and that's model."""
        values = fingerprint(memory.text, memory.as_of)
        embedder = self._embedder.ready()
        if embedder is None or vector is None:
            self._is_behind = embedder is not None or self._is_behind
            return described(memory).to_bytes(values=values)
        return described(memory).to_bytes(embedder.model_id, search.pack(vector), values)

    def reindex(self, *, batch: int = 64) -> Iterator[tuple[int, int]]:
        """Embed what the embedder in use has not embedded yet; yields how many are done of how many."""
        embedder = self._embedder.ready()
        if embedder is None:
            raise EmbedderError(self.degraded or "There is no embedder to index with.")
        cards = ((row.seq, row.card or b"") for row in self._ledger.current("memories"))
        places = search.without_vector(cards, embedder.model_id, embedder.dim)
        for start in range(0, len(places), batch):
            chosen = places[start : start + batch]
            self._reembed(embedder.model_id, chosen)
            yield min(start + batch, len(places)), len(places)

    def embed_more(self) -> bool:
        """Embed some of what has no vector by the embedder in use; whether there may be more.

        That is what was written while it failed, or by another embedder. It loads none: an idle keep stays idle.
        """
        if not self._is_behind or not self._embedder.is_loaded or self.degraded:
            return False
        try:
            self._is_behind = next(self.reindex(), None) is not None
        except EmbedderError:
            return False  # it is tried again when the embedder works again
        return self._is_behind

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

    def outdated(self, before: int = VERSION) -> list[int]:
        """The places of memories with cards of an earlier version than that. Told by the oldest in most keeps."""
        oldest = self._ledger.oldest_memory()
        if oldest is None or not _is_outdated(oldest, before):
            return []
        return [row.seq for row in self._ledger.current("memories") if _is_outdated(row, before)]

    def renew(self) -> None:
        """Write the cards of an earlier version anew, with the vectors they have: their words are cut otherwise now.

        It begins with the newest, so the oldest is of this version only when all are, however often it was broken off.
        """
        places = self.outdated()
        for end in range(len(places), 0, -_RENEWED_AT_ONCE):
            chosen = places[max(0, end - _RENEWED_AT_ONCE) : end]
            with self._ledger.writing() as entry:
                for row in self._ledger.current("memories", chosen):
                    card = described(memory_from(Sealed(row, verified=True)))
                    entry.attach("memories", row, renewed(row.card or b"", card))
                entry.event("memories.reindexed", model="", count=len(chosen))

    # Finding

    def search(
        self, question: str, *, today: date, acting_only: bool = False, explain: bool = False, floor: float = 1.0
    ) -> Callable[[int], list[Hit]]:
        """Understand a question once; the answer gives the best k places. Proposals: the reader verifies them."""
        with self._ledger.reading():
            index = self._current()
            acting = self._acting
        allow = acting if acting_only else None
        query = index.understand(question, today=today, allow=allow)
        vector = self._question_vector(query.meaning)
        return lambda k: index.search(query, k, vector=vector, allow=allow, prefer=acting, floor=floor, explain=explain)

    def is_hearsay(self, seq: int) -> bool:
        """Whether the memory at that place is hearsay that nobody approved; known without reading it."""
        return self._acting is None or not search.holds(self._acting, seq)

    def gist_places(self) -> frozenset[int]:
        """Where the memories above hearsay are that have a gist, told by their cards."""
        with self._ledger.reading():
            self._current()
            return self._with_gist

    def hearsay_count(self) -> int:
        """How many memories a search among what may act leaves out from the start."""
        return 0 if self._index is None or self._acting is None else len(self._index) - len(self._acting)

    def _question_vector(self, meaning: str) -> NDArray[np.float32] | None:
        rows = self._embedder.embed([meaning], "query") if meaning.strip() else None
        return None if rows is None else rows[0]

    # Following

    def _current(self) -> Index:
        with self._changes.taken() as noted:
            return self._brought_up(noted)

    def _brought_up(self, noted: Changed | None) -> Index:
        embedder = self._embedder.ready()
        if self._index is None or (embedder is not None and self._index.model_id != embedder.model_id):
            index = search.Index(model_id=embedder.model_id, dim=embedder.dim) if embedder else search.Index()
            self._with_gist = frozenset()
            acting = self._take_in(index, self._ledger.current("memories"))
            self._acting = search.changed(search.NOWHERE, (), acting)
            self._index = index
        elif noted is not None and noted.places:
            places = sorted(noted.places)
            rows = list(self._ledger.current("memories", places))
            if gone := set(places).difference(row.seq for row in rows):
                self._index.remove(gone)
            self._with_gist -= noted.places
            before = self._acting if self._acting is not None else search.NOWHERE
            self._acting = search.changed(before, places, self._take_in(self._index, rows))
        return self._index

    def _take_in(self, index: Index, rows: Iterable[Row]) -> list[int]:
        """Put rows into the index; gives the places of those that could act."""
        acting: list[int] = []
        gists: list[int] = []
        unread = index.load(_entries(rows, acting, gists))
        if unread:
            anew = (row._replace(card=_described_row(row)) for row in self._ledger.current("memories", unread))
            index.load(_entries(anew, [], gists))
        if gists:
            self._with_gist = self._with_gist.union(gists)
        return acting


def _entries(rows: Iterable[Row], acting: list[int], gists: list[int]) -> Iterator[IndexEntry]:
    """What the index takes in; on the way, the places of what could act and of what has a gist are noted."""
    for seq, _, tag, _, _, card in rows:
        if tag.startswith(_ACTING_TAGS):
            acting.append(seq)
        if card and (marks := marks_in(card)) and marks[0] & HAS_GIST and not is_hearsay_tag(tag):
            gists.append(seq)
        yield seq, card or b""


def _windows(text: str) -> list[str]:
    return [text[start:end] for start, end in windows(text)]


def _stacked(rows: list[tuple[int, NDArray[np.float32] | None]]) -> NDArray[np.float32] | None:
    """The vectors of one text in the order of its windows; none if one of them is missing."""
    import numpy as np  # noqa: PLC0415 - numpy loads only when there is something to embed

    known = [vector for _, vector in sorted(rows, key=lambda row: row[0]) if vector is not None]
    return np.stack(known) if len(known) == len(rows) else None


def _described_row(row: Row) -> bytes:
    return described(memory_from(Sealed(row, verified=True))).to_bytes()


def _is_outdated(row: Row, before: int) -> bool:
    return row.card is not None and is_outdated(row.card, before)


def described(memory: Memory) -> Card:
    """What the index knows of a memory's text."""
    day = memory.as_of.date()
    card = describe(
        _text(memory),
        speaker=_speaker(memory),
        thread=memory.origin.session,
        day=day,
        answers=memory.question,
        is_owners=memory.standing is Standing.OWNER,
    )
    flags = card.flags | PINNED * memory.pinned | HAS_GIST * (memory.gist is not None)
    return replace(card, flags=flags, said=memory.said)


def _text(memory: Candidate | Memory) -> str:
    """What a memory says; a secret in it is not indexed."""
    if isinstance(memory, Memory) and memory.approval is not None and memory.approval.rules:
        from truekeep.screens.credentials import redact  # noqa: PLC0415 - few memories hold a secret

        return redact(memory.text)
    return memory.text


def _asked(memory: Candidate | Memory) -> str:
    """A text after what it answers: a bare answer means little without that."""
    return f"{memory.question} {_text(memory)}" if memory.question else _text(memory)


def _speaker(memory: Candidate | Memory) -> str | None:
    """Who says it, where a conversation was stored turn by turn."""
    speaker = memory.metadata.get("speaker")
    return speaker if isinstance(speaker, str) else None
