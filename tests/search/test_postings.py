"""The keyword index against the formula written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from truekeep.search import postings as postings_module
from truekeep.search.postings import Bm25, Collection, Postings

Documents = list[list[int]]
documents = st.lists(st.lists(st.integers(1, 9), max_size=8), min_size=1, max_size=12)


def index(rows: Documents, first: int = 0) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    pairs = [(number, row) for row, terms in enumerate(rows, first) for number in terms]
    terms = np.array([number for number, _ in pairs], dtype=np.uint32)
    return terms, np.array([row for _, row in pairs], dtype=np.int32)


def by_hand(rows: Documents, query: list[int], visible: list[bool], bm25: Bm25) -> list[float]:
    seen = [row for row, shown in zip(rows, visible, strict=True) if shown]
    mean = max(sum(map(len, seen)) / len(seen), 1.0) if seen else 1.0
    scores, total = [0.0] * len(rows), 0.0
    for number in query:
        having = sum(number in row for row in seen)
        weight = math.log1p((len(seen) + bm25.prior_documents - having + 0.5) / (having + 0.5))
        total += weight
        for place, row in enumerate(rows):
            count = row.count(number)
            penalty = bm25.k1 * (1 - bm25.b + bm25.b * len(row) / mean)
            scores[place] += weight * count / (count + penalty) if count else 0.0
    return [score / total if total else 0.0 for score in scores]


@given(documents, documents, st.lists(st.integers(1, 12), max_size=4, unique=True), st.data())
def test_scores_are_those_of_the_formula_over_the_visible_rows(
    early: Documents, late: Documents, query: list[int], data: st.DataObject
) -> None:
    rows = early + late
    visible = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    bm25 = Bm25()
    held = Postings.build(*index(early)).extended(*index(late, len(early)))
    lengths = np.array([len(row) for row in rows], dtype=np.uint16)
    seen = np.array(visible)
    mean = float(lengths[seen].mean()) if seen.any() else 0.0
    among = Collection(seen, int(seen.sum()), bm25.penalties(lengths, mean))
    assert bm25.coverage(held, query, among) == pytest.approx(by_hand(rows, query, visible, bm25), abs=1e-5)


@given(documents, st.lists(documents, max_size=4))
def test_merging_the_tail_changes_no_list(first: Documents, later: list[Documents]) -> None:
    rows, tailed, merged = first, Postings.build(*index(first)), Postings.build(*index(first))
    for batch in later:
        tailed = tailed.extended(*index(batch, len(rows)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(postings_module, "_MERGE_AT_LEAST", 0)
            merged = merged.extended(*index(batch, len(rows)))
        rows = rows + batch
    for number in range(1, 10):
        assert listed(tailed, number) == listed(merged, number)


@given(documents, st.data())
def test_keeping_some_rows_numbers_them_anew(rows: Documents, data: st.DataObject) -> None:
    kept = [place for place in range(len(rows)) if data.draw(st.booleans())]
    fresh = Postings.build(*index([rows[place] for place in kept]))
    thinned = Postings.build(*index(rows)).kept(np.array(kept, dtype=np.int64), len(rows))
    for number in range(1, 10):
        assert listed(thinned, number) == listed(fresh, number)


def listed(held: Postings, number: int) -> dict[int, float]:
    return {
        row: count
        for rows, counts in held.lists(number)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    }
