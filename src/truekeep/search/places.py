"""Sorted places as an array: taking some out and putting some in costs a copy, never a sort of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
NOWHERE: Places = np.zeros(0, dtype=np.int64)


def changed(places: Places, looked_at: Sequence[int], present: Sequence[int]) -> Places:
    """The sorted places without those looked at, except the ones that were found present."""
    fresh = np.array(sorted(present), dtype=np.int64)
    if not places.size or min(looked_at, default=0) > places[-1]:
        return np.concatenate((places, fresh))  # the common case: something new
    gone = np.array(sorted(looked_at), dtype=np.int64)
    at = np.searchsorted(places, gone)
    there = at < places.size
    there[there] = places[at[there]] == gone[there]
    kept = np.delete(places, at[there]) if there.any() else places
    return np.insert(kept, np.searchsorted(kept, fresh), fresh) if fresh.size else kept


def spread(starts: Places, lengths: Places) -> Places:
    """All positions of the runs that begin at ``starts``, one run after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    positions: Places = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return positions


def holds(places: Places, place: int) -> bool:
    """Whether the place is among the sorted ones."""
    at = int(np.searchsorted(places, place))
    return at < places.size and int(places[at]) == place
