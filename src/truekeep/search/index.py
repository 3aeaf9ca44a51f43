"""The index of one keep: follows writes, answers questions, leaves nothing on disk.

One writer at a time changes it, any number of readers search it meanwhile: every change makes a new
immutable state and puts it in place of the old one in a single step.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from truekeep.errors import InvalidRequest
from truekeep.search.card import MOST_WINDOWS, Card
from truekeep.search.fusion import SIGNALS, Signals, learned, measurements
from truekeep.search.loading import Entry, read
from truekeep.search.matrix import Matrix, finite, pack
from truekeep.search.postings import Postings
from truekeep.search.query import Query, understand
from truekeep.search.ranking import Hit, Ranking
from truekeep.search.rows import MAX_SEQ, Rows
from truekeep.search.signals import Floats, Measured, SignalView, measure

_CLEAR_SHARE = 4
_CLEAR_AT_LEAST = 1_000
_VAGUE = 2.0
"""How much more is asked for where a question has no word that tells one memory from another."""
_FEW = 8
"""Up to so many memories are taken in quicker one by one."""


@dataclass(frozen=True, slots=True)
class _State:
    rows: Rows
    postings: Postings
    matrix: Matrix | None


class Index:
    """Keyword and vector index of one keep. All vectors are of one model; others count as missing."""

    def __init__(self, *, model_id: str | None = None, dim: int | None = None) -> None:
        if (model_id is None) != (dim is None) or (dim is not None and not 1 <= dim <= 65_536):
            raise InvalidRequest("An index with vectors needs both model_id and dim.", code="invalid_vector")
        self.model_id = model_id
        self.dim = dim
        self._model = measurements(model_id)
        self._writing = threading.Lock()
        nothing = np.zeros(0, dtype=np.int32)
        matrix = None if dim is None else Matrix.empty(dim)
        self._state = _State(Rows.empty(), Postings.build(nothing.astype(np.uint32), nothing), matrix)

    def __len__(self) -> int:
        return len(self._state.rows.order)

    def load(self, entries: Iterable[Entry]) -> list[int]:
        """Take in memories; gives the places whose card cannot be read, which stay unsearchable."""
        remaining = iter(entries)
        first = list(islice(remaining, _FEW + 1))
        with self._writing:
            if len(first) > _FEW:
                return self._take_in(chain(first, remaining))
            return [seq for seq, card in first if not self._take_in_one(seq, card)]

    def add(self, seq: int, card: Card, vector: Floats | None = None) -> None:
        """Take in one memory, in place of the one that had this ``seq``; ``vector`` may have a row for each window."""
        packed = b"" if vector is None else pack(self._checked(vector, windows=True))
        with self._writing:
            self._take_in_one(seq, card.to_bytes(self.model_id or "", packed))

    def remove(self, seqs: Iterable[int]) -> None:
        """Forget memories; unknown places are ignored."""
        with self._writing:
            self._state = _cleared(replace(self._state, rows=self._state.rows.without(list(seqs))))

    def understand(self, text: str, *, today: date, allow: NDArray[np.int64] | None = None) -> Query:
        """Read a question in the light of who speaks in the visible memories; embed its ``meaning``."""
        return understand(text, known=self._view(allow).names, today=today)

    def search(
        self,
        query: Query,
        k: int,
        *,
        vector: Floats | None = None,
        allow: NDArray[np.int64] | None = None,
        prefer: NDArray[np.int64] | None = None,
        floor: float = 1.0,
        explain: bool = False,
    ) -> list[Hit]:
        """The best ``k`` memories, best first; none if nothing is related.

        ``allow`` are the places that may be seen at all; nothing outside it has any effect on the answer.
        Of duplicates one in ``prefer`` is shown, else the best. ``floor`` times the calibrated
        one is what a memory has to reach; with none unrelated memories are given, too.
        """
        view = self._view(allow)
        if k <= 0 or not len(view.chosen):
            return []
        checked = None if vector is None or self.dim is None else self._checked(vector)
        kind = self._kind(query, has_vectors=checked is not None)
        weights = learned(kind)
        ranking = Ranking(self._measured(view, query, checked, weights.weights), weights, kind == "owner")
        return ranking.hits(
            k, prefer=prefer, floor=floor if query.terms or query.pieces else _VAGUE * floor, explain=explain
        )

    def signals(
        self, query: Query, *, vector: Floats | None = None, allow: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], Signals]:
        """The places in sight and every signal measured for them: what the weights are learned from."""
        view = self._view(allow)
        return view.rows.column("seq")[view.chosen], self._measured(view, query, vector, SIGNALS).signals

    def _measured(self, view: SignalView, query: Query, vector: Floats | None, wanted: Collection[str]) -> Measured:
        centred = None if vector is None else self._model.centred(vector)
        return measure(view, query, centred, self._model.scale, wanted)

    def _kind(self, query: Query, *, has_vectors: bool) -> str:
        """Which weights fit the question."""
        if not has_vectors:
            return "keywords"
        if query.names:
            return "dialogue"
        is_read = not self._model.languages or query.language in self._model.languages
        return "owner" if is_read or not query.pieces else "foreign"

    def _view(self, allow: NDArray[np.int64] | None) -> SignalView:
        state = self._state
        chosen = state.rows.visible(allow)
        counts = np.bincount(state.rows.column("speaker")[chosen])
        return SignalView(state.rows, state.postings, state.matrix, chosen, state.rows.roster.names(counts))

    def _checked(self, vector: Floats, *, windows: bool = False) -> Floats:
        if self.dim is None:
            raise InvalidRequest("This index holds no vectors.", code="invalid_vector")
        rows = np.asarray(vector)
        several = windows and rows.ndim == 2 and 1 <= len(rows) <= MOST_WINDOWS
        return finite(rows, (len(rows), self.dim) if several else (self.dim,))

    def _take_in(self, entries: Iterable[Entry]) -> list[int]:
        state = self._state
        batch = read(entries, state.matrix, self.model_id or "")
        seqs, count = _in_range(batch.seqs), len(batch.seqs)
        if len(set(seqs)) != count:
            raise InvalidRequest("The same place twice in one batch.")
        numbers = np.repeat(np.arange(state.rows.size, state.rows.size + count, dtype=np.int32), batch.deck.lengths)
        rows = state.rows.without(seqs).extended(seqs, batch.deck, batch.has_vector, batch.windows)
        self._state = _cleared(_State(rows, state.postings.extended(batch.deck.terms, numbers), batch.matrix))
        return batch.unread

    def _take_in_one(self, seq: int, blob: bytes) -> bool:
        """What ``_take_in`` does, for a single write: the search right after one must not wait for it."""
        state, read = self._state, Card.from_bytes(blob)
        _in_range([seq])
        if read is None:
            return False
        card, made_by, packed = read
        matrix, windows, has_vector = state.matrix, 1, False
        if matrix is not None:
            matrix, windows, has_vector = matrix.appended(packed if made_by == (self.model_id or "").encode() else b"")
        terms = np.array(card.terms, dtype=np.uint32)
        numbers = np.full(terms.size, state.rows.size, dtype=np.int32)
        rows = state.rows.without([seq]).appended(seq, card, has_vector=has_vector, windows=windows)
        self._state = _cleared(_State(rows, state.postings.extended(terms, numbers), matrix))
        return True


def _in_range(seqs: list[int]) -> list[int]:
    if seqs and (min(seqs) < 0 or max(seqs) > MAX_SEQ):
        raise InvalidRequest("A place outside the index's range.")
    return seqs


def _cleared(state: _State) -> _State:
    """The state without its dead rows, once they are many enough to be worth the work."""
    live = len(state.rows.order)
    if state.rows.dead <= max(_CLEAR_AT_LEAST, live // _CLEAR_SHARE):
        return state
    kept = np.sort(state.rows.order)
    matrix = None
    if state.matrix is not None:
        matrix = Matrix.empty(state.matrix.dim).extended(state.matrix.rows(state.rows.windows_of(kept)))
    return _State(state.rows.kept(kept), state.postings.kept(kept, state.rows.size), matrix)
