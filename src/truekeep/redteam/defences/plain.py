"""A store without any defence: whatever is put in is kept and acts. How it is found is for its kinds to say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truekeep.redteam.defences.store import STORED, Entry, Hit


class PlainStore(ABC):
    """Texts in the order in which they came."""

    name = "plain store"
    version = ""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._honest = 0

    def fill(self, entries: Sequence[Entry]) -> None:
        """Take them all in."""
        self._add(entries)
        self._honest = len(self._texts)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Take them all in."""
        self._add(entries)
        return [STORED] * len(entries)

    @abstractmethod
    def recall(self, query: str, k: int) -> list[Hit]:
        """The best for a question."""

    def acting(self, query: str, k: int) -> list[Hit]:
        """There is no gate."""
        return self.recall(query, k)

    @abstractmethod
    def reset(self) -> None:
        """Drop what was planted."""

    def close(self) -> None:
        """Let go of the texts."""
        self._texts.clear()

    @abstractmethod
    def _add(self, entries: Sequence[Entry]) -> None: ...


def best(scores: NDArray[np.float32], k: int) -> list[int]:
    """Places of the k highest scores; of equals the earlier comes first."""
    if len(scores) > 4 * k:
        # Only what could be among the best is sorted.
        bound = np.partition(scores, -k)[-k]
        chosen = np.flatnonzero(scores >= bound)
    else:
        chosen = np.arange(len(scores))
    return [int(place) for place in chosen[np.argsort(-scores[chosen], kind="stable")][:k]]
