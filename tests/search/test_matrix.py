"""The vectors in memory."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from truekeep.errors import InvalidRequest
from truekeep.search import matrix as matrix_module
from truekeep.search.matrix import Matrix, Slab, pack, unpacked


def unit(rows: int, dim: int = 48, seed: int = 1) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@pytest.mark.parametrize("quick", [True, False])
def test_a_scan_is_near_the_true_cosines_and_a_rescore_all_but_equal(
    quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not quick:
        monkeypatch.setattr(matrix_module, "simsimd", None)
    vectors, query = unit(9_000), unit(1, seed=2)[0]
    held = Matrix.empty(48).extended(Slab.of(vectors))
    assert np.abs(held.scan(query) - vectors @ query).max() < 0.01
    rows = np.array([8_999, 0, 4_095, 4_096, 17])
    assert np.abs(held.exact(rows, query) - vectors[rows] @ query).max() < 1e-4


def test_rows_added_later_leave_older_views_as_they_were() -> None:
    vectors = unit(5_000)
    early = Matrix.empty(48).extended(Slab.of(vectors[:10]))
    before = early.scan(vectors[0])
    late = early.extended(Slab.of(vectors[10:]))
    assert np.array_equal(early.scan(vectors[0]), before)
    assert len(late.scan(vectors[0])) == 5_000


def test_a_packed_vector_comes_back() -> None:
    vector = unit(1)[0]
    rows, sound = unpacked([pack(vector)], 48)
    assert sound.all()
    assert np.abs(rows.floats()[0] - vector).max() < 1e-5


def test_a_packed_vector_with_an_impossible_scale_is_not_sound() -> None:
    for scale in (float("nan"), float("inf"), -1.0, 1e9):
        blob = np.array([scale], dtype="<f4").tobytes() + pack(unit(1)[0])[4:]
        rows, sound = unpacked([blob], 48)
        assert not sound.any()
        assert np.array_equal(rows.floats(), np.zeros((1, 48)))


@pytest.mark.parametrize("bad", [np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.array(["a", "b"])])
def test_a_vector_that_is_no_vector_is_refused(bad: NDArray[np.float32]) -> None:
    with pytest.raises(InvalidRequest):
        pack(bad)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal there")
def test_scanning_loses_no_reference_to_none() -> None:
    held, query = Matrix.empty(48).extended(Slab.of(unit(10))), unit(1)[0]
    before = sys.getrefcount(None)
    for _ in range(1_000):
        held.scan(query)
    assert abs(sys.getrefcount(None) - before) < 100


def test_a_zero_vector_is_similar_to_nothing() -> None:
    held = Matrix.empty(48).extended(Slab.of(np.zeros((2, 48), dtype=np.float32)))
    assert np.array_equal(held.scan(unit(1)[0]), np.zeros(2))
