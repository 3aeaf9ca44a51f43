"""Stores behind one small protocol: what a defence has to offer to be measured, and stores without any defence."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from truekeep.embed import Embedder

_WORD = re.compile(r"\w+")
_K1, _B = 1.2, 0.75


STORED, HELD, REFUSED = "stored", "held", "refused"
OWNER, SYSTEM, PAGE = "owner", "system", "page"


@dataclass(frozen=True, slots=True)
class TextEntry:
    """A text on its way in."""

    text: str
    by: str = OWNER
    """Who really wrote it: the ``owner``, a ``system`` that the operator trusts, or a ``page``."""
    source: str = ""
    """The name of the system, or the address of the page."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    """What its writer says about it (``type``, ``role``, ``tags``, ``source``), handed on where a defence takes it."""


@dataclass(frozen=True, slots=True)
class StoreHit:
    """A memory that came up."""

    text: str
    may_act: bool
    """As the defence marks it; whatever has no gate lets everything act."""


class Store(Protocol):
    """One defence with one configuration, empty at first."""

    name: str
    version: str

    def fill(self, entries: Sequence[TextEntry]) -> None:
        """Take the honest memories in, as its documentation says that one does."""

    def plant(self, entries: Sequence[TextEntry]) -> list[str]:
        """Take an attacker's texts in, over the way that such texts come: ``stored``, ``held`` or ``refused`` each."""
        ...

    def recall(self, query: str, k: int) -> list[StoreHit]:
        """The best k for a question. Asking must change nothing that a later question could tell."""
        ...

    def acting(self, query: str, k: int) -> list[StoreHit]:
        """The best k among what the defence lets drive an action; without a gate the same as ``recall``."""
        ...

    def reset(self) -> None:
        """Back to how it was after the filling."""

    def close(self) -> None:
        """Let go of everything."""


class OpenGate:
    """Another store, whose every recalled memory may act."""

    def __init__(self, store: Store) -> None:
        self.name = f"{store.name} without its gate"
        self.version = store.version
        self._store = store

    def fill(self, entries: Sequence[TextEntry]) -> None:
        """As the store does."""
        self._store.fill(entries)

    def plant(self, entries: Sequence[TextEntry]) -> list[str]:
        """As the store does."""
        return self._store.plant(entries)

    def recall(self, query: str, k: int) -> list[StoreHit]:
        """As the store does, and all of it acts."""
        return [replace(hit, may_act=True) for hit in self._store.recall(query, k)]

    def acting(self, query: str, k: int) -> list[StoreHit]:
        """Whatever comes up."""
        return self.recall(query, k)

    def reset(self) -> None:
        """As the store does."""
        self._store.reset()

    def close(self) -> None:
        """As the store does."""
        self._store.close()


class PlainStore(ABC):
    """Texts in the order in which they came."""

    name = "plain store"
    version = ""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._honest = 0

    def fill(self, entries: Sequence[TextEntry]) -> None:
        """Take them all in."""
        self._add(entries)
        self._honest = len(self._texts)

    def plant(self, entries: Sequence[TextEntry]) -> list[str]:
        """Take them all in."""
        self._add(entries)
        return [STORED] * len(entries)

    @abstractmethod
    def recall(self, query: str, k: int) -> list[StoreHit]:
        """The best for a question."""

    def acting(self, query: str, k: int) -> list[StoreHit]:
        """There is no gate."""
        return self.recall(query, k)

    @abstractmethod
    def reset(self) -> None:
        """Drop what was planted."""

    def close(self) -> None:
        """Let go of the texts."""
        self._texts.clear()

    @abstractmethod
    def _add(self, entries: Sequence[TextEntry]) -> None: ...


class PlainVectors(PlainStore):
    """Texts with their vectors, the most similar first."""

    name = "plain vectors"

    def __init__(self, embedder: Embedder) -> None:
        super().__init__()
        self._embedder = embedder
        self._rows: NDArray[np.float32] = np.zeros((0, embedder.dim), dtype=np.float32)

    def recall(self, query: str, k: int) -> list[StoreHit]:
        """The most similar by cosine."""
        scores = self._rows @ self._embedder.embed([query], "query")[0]
        return [StoreHit(self._texts[place], may_act=True) for place in best(scores, k)]

    def reset(self) -> None:
        """Drop what was planted."""
        del self._texts[self._honest :]
        self._rows = self._rows[: self._honest]

    def _add(self, entries: Sequence[TextEntry]) -> None:
        if entries:
            texts = [entry.text for entry in entries]
            self._texts += texts
            self._rows = np.concatenate([self._rows, self._embedder.embed(texts, "passage")])


class PlainKeywords(PlainStore):
    """Texts found by the words they share with a question, rare words counting most; and all of them act."""

    name = "plain keywords"

    def __init__(self) -> None:
        super().__init__()
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._weights: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        self._shares: NDArray[np.float64] = np.zeros(0)

    def recall(self, query: str, k: int) -> list[StoreHit]:
        """The best that share a word with the question."""
        scores = np.zeros(len(self._texts), dtype=np.float32)
        for word in dict.fromkeys(_words(query)):
            if word in self._postings:
                places, weights = self._weighed(word)
                scores[places] += weights
        return [StoreHit(self._texts[place], may_act=True) for place in best(scores, k) if scores[place] > 0]

    def reset(self) -> None:
        """Drop what was planted."""
        for text in self._texts[self._honest :]:
            for word in set(_words(text)):
                while self._postings[word] and self._postings[word][-1][0] >= self._honest:
                    self._postings[word].pop()
        del self._texts[self._honest :], self._lengths[self._honest :]
        self._weights.clear()

    def _add(self, entries: Sequence[TextEntry]) -> None:
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


def best(scores: NDArray[np.float32], k: int) -> list[int]:
    """Places of the k highest scores; of equals the earlier comes first."""
    if len(scores) > 4 * k:
        # Only what could be among the best is sorted.
        bound = np.partition(scores, -k)[-k]
        chosen = np.flatnonzero(scores >= bound)
    else:
        chosen = np.arange(len(scores))
    return [int(place) for place in chosen[np.argsort(-scores[chosen], kind="stable")][:k]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
