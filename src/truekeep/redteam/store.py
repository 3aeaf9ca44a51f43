"""Plain keywords (BM25): the store without a defence where there is no encoder either."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from truekeep.redteam.defences.plain import PlainStore, best
from truekeep.redteam.defences.store import Entry, Hit

_WORD = re.compile(r"\w+")
_K1, _B = 1.2, 0.75


class PlainKeywords(PlainStore):
    """Texts found by the words they share with a question, rare words counting most; and all of them act."""

    name = "plain keywords"

    def __init__(self) -> None:
        super().__init__()
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._weights: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        self._shares: NDArray[np.float64] = np.zeros(0)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The best that share a word with the question."""
        scores = np.zeros(len(self._texts), dtype=np.float32)
        for word in dict.fromkeys(_words(query)):
            if word in self._postings:
                places, weights = self._weighed(word)
                scores[places] += weights
        return [Hit(self._texts[place], may_act=True) for place in best(scores, k) if scores[place] > 0]

    def reset(self) -> None:
        """Drop what was planted."""
        for text in self._texts[self._honest :]:
            for word in set(_words(text)):
                while self._postings[word] and self._postings[word][-1][0] >= self._honest:
                    self._postings[word].pop()
        del self._texts[self._honest :], self._lengths[self._honest :]
        self._weights.clear()

    def _add(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            counts = Counter(_words(entry.text))
            for word, times in counts.items():
                self._postings[word].append((len(self._texts), times))
            self._texts.append(entry.text)
            self._lengths.append(counts.total())
        self._weights.clear()

    def _weighed(self, word: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Where a word stands and what it counts there; worked out once between two changes."""
        if word not in self._weights:
            places, times = np.array(self._postings[word]).T if self._postings[word] else np.zeros((2, 0), dtype=int)
            rarity = log(1 + (len(self._texts) - len(places) + 0.5) / (len(places) + 0.5))
            lengths = self._relative()[places]
            weights = rarity * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * lengths))
            self._weights[word] = places, weights.astype(np.float32)
        return self._weights[word]

    def _relative(self) -> NDArray[np.float64]:
        """How long each text is, compared with the average."""
        if len(self._shares) != len(self._lengths):
            lengths = np.array(self._lengths, dtype=np.float64)
            self._shares = lengths / max(1.0, float(lengths.mean()))
        return self._shares


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
