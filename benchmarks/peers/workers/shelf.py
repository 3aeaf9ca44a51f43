"""A plain store for guards that bring none: vectors by cosine, or BM25 where there is no encoder."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from worker_loop import Vectors  # type: ignore[import-not-found]

_WORD = re.compile(r"\w+")
_K1, _B = 1.2, 0.75


class Shelf:
    """Texts in the order in which they came; the first ones can be kept when the later ones go."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._rows: list[Sequence[float]] = []
        self._words: list[Counter[str]] = []
        self._matrix: Any = None
        self.texts: list[str] = []

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, text: str) -> int:
        """Store a text; its place."""
        self.texts.append(text)
        if self._vectors:
            self._rows.append(self._vectors(text))
        else:
            self._words.append(Counter(_WORD.findall(text.casefold())))
        self._matrix = None
        return len(self.texts) - 1

    def cut(self, length: int) -> None:
        """Forget everything after the first so many."""
        for rows in (self.texts, self._rows, self._words):
            del rows[length:]
        self._matrix = None

    def best(self, query: str, k: int, wanted: Callable[[int], bool] = lambda _place: True) -> list[tuple[int, float]]:
        """The best k places that are wanted, with their scores, best first."""
        scores = self._scores(query)
        found: list[tuple[int, float]] = []
        for place in np.argsort(-scores, kind="stable"):
            if len(found) == k:
                break
            if wanted(int(place)):
                found.append((int(place), float(scores[place])))
        return found

    def _scores(self, query: str) -> Any:
        if not self.texts:
            return np.zeros(0)
        if not self._vectors:
            return self._keyword_scores(query)
        if self._matrix is None:
            self._matrix = _unit(np.array(self._rows, dtype=np.float32))
        asked = _unit(np.array([self._vectors(query)], dtype=np.float32))[0]
        return self._matrix @ asked

    def _keyword_scores(self, query: str) -> Any:
        lengths = np.array([words.total() for words in self._words], dtype=np.float64)
        scores = np.zeros(len(lengths))
        norm = _K1 * (1 - _B + _B * lengths / max(1.0, lengths.mean()))
        for word in set(_WORD.findall(query.casefold())):
            counts = np.array([words[word] for words in self._words], dtype=np.float64)
            holders = int((counts > 0).sum())
            weight = math.log(1 + (len(lengths) - holders + 0.5) / (holders + 0.5))
            scores += weight * counts * (_K1 + 1) / (counts + norm)
        return scores


def _unit(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
