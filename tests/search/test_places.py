"""Sorted places that follow changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from truekeep.search.places import NOWHERE, changed, holds

places = st.sets(st.integers(0, 30))


@given(places, places, places)
def test_places_follow_what_was_looked_at(before: set[int], looked_at: set[int], seen: set[int]) -> None:
    present = looked_at & seen
    held = changed(NOWHERE, (), list(before))
    after = changed(held, list(looked_at), list(present))
    assert after.tolist() == sorted(before - looked_at | present)
    assert held.tolist() == sorted(before)
    assert [place for place in range(31) if holds(after, place)] == after.tolist()
    assert after.dtype == np.int64
