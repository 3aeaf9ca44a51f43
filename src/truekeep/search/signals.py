"""Measures everything that speaks for a memory as the answer to a question, as arrays over the visible rows.

All statistics are taken over the visible rows alone. What a search may not show therefore cannot
change the order of what it shows.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from truekeep.search.card import IS_QUESTION, SAYS_HOW_MANY, SAYS_WHEN
from truekeep.search.dates import nearness
from truekeep.search.fusion import Scale, Signals
from truekeep.search.postings import Bm25, Collection, Postings

if TYPE_CHECKING:
    from truekeep.search.matrix import Matrix
    from truekeep.search.query import Query
    from truekeep.search.rows import Rows

Floats = NDArray[np.float32]
_BM25 = Bm25()
_PLAIN = Scale(0.1, 0.1)
_FEW = 40.0
"""With fewer vectors than that a keep's own statistics say less than the plain ones."""


@dataclass(frozen=True, slots=True)
class SignalView:
    """What one search sees: a consistent state of the index, cut to the visible rows."""

    rows: Rows
    postings: Postings
    matrix: Matrix | None
    chosen: NDArray[np.int64]
    """The visible rows in the order of conversation."""
    names: dict[int, set[int]]


@dataclass(frozen=True, slots=True)
class Measured:
    """The signals of one search, and what is needed to sharpen the meaning of the few rows that matter."""

    view: SignalView
    signals: Signals
    vector: Floats | None
    scale: Scale

    def sharpened(self, places: NDArray[np.int64]) -> Floats:
        """What exact cosines change in the meaning of some places."""
        rows = self.view.chosen[places]
        if self.vector is None or self.view.matrix is None or not len(rows):
            return np.zeros(len(rows), dtype=np.float32)
        windows = self.view.matrix.exact(self.view.rows.windows_of(rows), self.vector)
        counts = self.view.rows.column("windows")[rows].astype(np.int64)
        exact = _common(np.maximum.reduceat(windows, np.cumsum(counts) - counts), self.scale)
        present = self.view.rows.column("has_vector")[rows]
        return np.where(present, exact - self.signals["meaning"][places], np.float32(0))

    def nearest(self, place: int) -> tuple[int, float, Floats | None]:
        """The number of that window of a place's text which is nearest to the question, its cosine and its vector."""
        rows = self.view.chosen[place : place + 1]
        if self.vector is None or self.view.matrix is None or not self.view.rows.column("has_vector")[rows[0]]:
            return 0, 0.0, None
        windows = self.view.matrix.rows(self.view.rows.windows_of(rows)).floats()
        cosines = windows @ self.vector
        best = int(np.argmax(cosines))
        return best, float(cosines[best]), windows[best]


def measure(
    view: SignalView, query: Query, vector: Floats | None, scale: Scale | None, wanted: Container[str]
) -> Measured:
    """The wanted signals for every visible row; without a vector those of meaning are left out."""
    among = _collection(view)
    signals = _context(view, query)
    signals["words"] = _BM25.coverage(view.postings, query.terms, among, query.also)[view.chosen]
    if "pieces" in wanted:
        signals["pieces"] = _BM25.coverage(view.postings, query.pieces, among)[view.chosen]
    if "name" in wanted:
        signals["name"] = _named(view, query, among)
    used = scale or _PLAIN
    if vector is not None and view.matrix is not None:
        whole, best = _windows(view, vector, view.matrix)
        cosines = best[view.chosen]
        present = view.rows.column("has_vector")[view.chosen]
        used = scale or _estimated(cosines[present])
        signals["meaning"] = _meaning(_common(cosines, used), present, signals["words"])
        if "whole" in wanted:
            signals["whole"] = _meaning(_common(whole[view.chosen], used), present, signals["words"])
    if "words_before" in wanted or "meaning_before" in wanted:
        signals |= _neighbours(view, signals)
    return Measured(view, signals, vector if "meaning" in signals else None, used)


def _neighbours(view: SignalView, signals: Signals) -> Signals:
    """What speaks for the turns before and after: an answer often stands next to the question's words."""
    together = _Together.of(view.rows.column("thread")[view.chosen])
    words = signals["words"]
    found = {
        "words_before": together.before(words, 1, 0.0),
        "words_after": together.after(words, 1, 0.0),
        "words_around": together.before(words, 2, 0.0) + together.after(words, 2, 0.0),
    }
    if "meaning" in signals:
        meaning = signals["meaning"]
        usual = float(meaning.mean())
        found["meaning_before"] = together.before(meaning, 1, usual)
        found["meaning_after"] = together.after(meaning, 1, usual)
    return found


def _windows(view: SignalView, vector: Floats, matrix: Matrix) -> tuple[Floats, Floats]:
    """For each row the cosine of its whole text, and of that window of it which is nearest."""
    cosines = matrix.scan(vector)
    if matrix.size == view.rows.size:
        return cosines, cosines
    firsts = view.rows.column("first")
    return cosines[firsts], np.maximum.reduceat(cosines, firsts)


def _collection(view: SignalView) -> Collection:
    lengths = view.rows.column("length")
    everything = len(view.chosen) == view.rows.size
    seen = None
    if not everything:
        seen = np.zeros(view.rows.size, dtype=np.bool_)
        seen[view.chosen] = True
    mean = float((lengths if everything else lengths[view.chosen]).mean()) if len(view.chosen) else 0.0
    return Collection(seen, len(view.chosen), _BM25.penalties(lengths, mean))


def _context(view: SignalView, query: Query) -> Signals:
    flags = view.rows.column("flags")[view.chosen]
    nothing = np.zeros(len(view.chosen), dtype=np.float32)
    days = view.rows.column("day")[view.chosen] if query.periods else None
    return {
        "question": _flag(flags, IS_QUESTION),
        "says_when": _flag(flags, SAYS_WHEN) if query.asks_when else nothing,
        "says_how_many": _flag(flags, SAYS_HOW_MANY) if query.asks_how_many else nothing,
        "date": nearness(query.periods, days) if days is not None else nothing,
        "speaker": _spoken(view, _person(view, query)),
    }


def _person(view: SignalView, query: Query) -> set[int]:
    """The speakers that all the names of the question fit; none if it names two different people."""
    meant = [view.names[name] for name in query.names if name in view.names]
    return set.intersection(*meant) if meant else set()


def _spoken(view: SignalView, people: set[int]) -> Floats:
    spoken = np.zeros(len(view.chosen), dtype=np.float32)
    for person in people:
        spoken[view.rows.column("speaker")[view.chosen] == person] = 1.0
    return spoken


def _named(view: SignalView, query: Query, among: Collection) -> Floats:
    """How far a turn of somebody else mentions the people that the question names."""
    if not query.names:
        return np.zeros(len(view.chosen), dtype=np.float32)
    named = _BM25.coverage(view.postings, query.names, among, query.also)[view.chosen]
    people = set().union(*(view.names.get(name, set()) for name in query.names))
    return named * (1 - _spoken(view, people))


def _common(cosines: Floats, scale: Scale) -> Floats:
    """Cosines of a model on the scale common to all."""
    cosines = cosines - np.float32(scale.centre)
    cosines *= np.float32(_PLAIN.spread / scale.spread)
    cosines += np.float32(_PLAIN.centre)
    return cosines


def _meaning(cosines: Floats, present: NDArray[np.bool_], words: Floats) -> Floats:
    """The cosines; in place of those that are missing the usual one, and more where words are shared."""
    if not present.all():
        usual = float(cosines[present].mean()) if present.any() else _PLAIN.centre
        cosines[~present] = usual + words[~present]
    return cosines


def _estimated(cosines: Floats) -> Scale:
    """The scale of a model that nobody measured, from this query's cosines, drawn to the plain one if they are few."""
    share = len(cosines) / (len(cosines) + _FEW)
    centre = float(cosines.mean()) if len(cosines) else 0.0
    spread = float(cosines.std()) if len(cosines) else 0.0
    return Scale(share * centre + (1 - share) * _PLAIN.centre, max(share * spread + (1 - share) * _PLAIN.spread, 1e-3))


def _flag(flags: NDArray[np.uint8], bit: int) -> Floats:
    raised: Floats = (flags & np.uint8(bit) != 0).astype(np.float32)
    return raised


@dataclass(frozen=True, slots=True)
class _Together:
    """Which neighbours in the order of conversation belong to the same conversation."""

    same: tuple[NDArray[np.bool_], NDArray[np.bool_]]

    @classmethod
    def of(cls, threads: NDArray[np.int32]) -> _Together:
        near, far = ((threads[gap:] == threads[:-gap]) & (threads[gap:] != 0) for gap in (1, 2))
        return cls((near, far))

    def before(self, values: Floats, gap: int, missing: float) -> Floats:
        """For each row the value of the turn ``gap`` places before it."""
        shifted = np.full(values.size, missing, dtype=np.float32)
        np.copyto(shifted[gap:], values[:-gap], where=self.same[gap - 1])
        return shifted

    def after(self, values: Floats, gap: int, missing: float) -> Floats:
        """For each row the value of the turn ``gap`` places after it."""
        shifted = np.full(values.size, missing, dtype=np.float32)
        np.copyto(shifted[:-gap], values[gap:], where=self.same[gap - 1])
        return shifted
