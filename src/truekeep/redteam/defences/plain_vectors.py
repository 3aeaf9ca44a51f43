"""Plain vectors: what people use who have no defence at all. Whatever is similar comes up, and all of it acts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truekeep.embed import Embedder
from truekeep.redteam.defences.plain import PlainStore, best
from truekeep.redteam.defences.store import Entry, Hit


class PlainVectors(PlainStore):
    """Texts with their vectors, the most similar first."""

    name = "plain vectors"

    def __init__(self, embedder: Embedder) -> None:
        super().__init__()
        self._embedder = embedder
        self._rows: NDArray[np.float32] = np.zeros((0, embedder.dim), dtype=np.float32)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The most similar by cosine."""
        scores = self._rows @ self._embedder.embed([query], "query")[0]
        return [Hit(self._texts[place], may_act=True) for place in best(scores, k)]

    def reset(self) -> None:
        """Drop what was planted."""
        del self._texts[self._honest :]
        self._rows = self._rows[: self._honest]

    def _add(self, entries: Sequence[Entry]) -> None:
        if entries:
            texts = [entry.text for entry in entries]
            self._texts += texts
            self._rows = np.concatenate([self._rows, self._embedder.embed(texts, "passage")])
