"""Plain vectors: what people use who have no defence at all. Whatever is similar comes up, and all of it acts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truekeep.embed import Embedder
from truekeep.redteam.defences.store import STORED, Entry, Hit


class PlainVectors:
    """Texts with their vectors, the most similar first."""

    name = "plain vectors"
    version = ""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._texts: list[str] = []
        self._rows: NDArray[np.float32] = np.zeros((0, embedder.dim), dtype=np.float32)
        self._honest = 0

    def fill(self, entries: Sequence[Entry]) -> None:
        """Take them all in."""
        self._add(entries)
        self._honest = len(self._texts)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Take them all in."""
        self._add(entries)
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The most similar by cosine."""
        scores = self._rows @ self._embedder.embed([query], "query")[0]
        return [Hit(self._texts[place], may_act=True) for place in best(scores, k)]

    def acting(self, query: str, k: int) -> list[Hit]:
        """There is no gate."""
        return self.recall(query, k)

    def reset(self) -> None:
        """Drop what was planted."""
        del self._texts[self._honest :]
        self._rows = self._rows[: self._honest]

    def close(self) -> None:
        """Nothing is held."""

    def _add(self, entries: Sequence[Entry]) -> None:
        if entries:
            texts = [entry.text for entry in entries]
            self._texts += texts
            self._rows = np.concatenate([self._rows, self._embedder.embed(texts, "passage")])


def best(scores: NDArray[np.float32], k: int) -> list[int]:
    """Places of the k highest scores; of equals the earlier comes first."""
    if len(scores) > 4 * k:
        # Only what could be among the best is sorted.
        bound = np.partition(scores, -k)[-k]
        chosen = np.flatnonzero(scores >= bound)
    else:
        chosen = np.arange(len(scores))
    return [int(place) for place in chosen[np.argsort(-scores[chosen], kind="stable")][:k]]
