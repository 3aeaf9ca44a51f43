"""The check that every vector passes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.embed.base import EmbedderError, unit_rows


@pytest.mark.parametrize(
    "answer",
    [
        [[float("nan"), 1.0]],
        [[float("inf"), 1.0]],
        [[1e300, 1.0]],
        [[1.0, 2.0, 3.0]],
        [[1.0, 2.0], [3.0, 4.0]],
        [1.0, 2.0],
        [],
        [["a", "b"]],
        [[1.0], [1.0, 2.0]],
        None,
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_an_unusable_answer_is_an_embedder_error(answer: object) -> None:
    with pytest.raises(EmbedderError):
        unit_rows(answer, count=1, dim=2)  # type: ignore[arg-type]


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=3, max_size=3))
def test_every_row_has_length_one_or_is_all_zero(row: list[float]) -> None:
    length = float(np.linalg.norm(unit_rows([row], count=1, dim=3).astype(np.float64)))
    assert length == pytest.approx(1, abs=1e-5) if any(row) else length == 0
