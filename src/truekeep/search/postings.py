"""The keyword index: inverted lists in memory that follow writes, and BM25 over them.

A sorted *base* holds most rows as one compressed inverted index. Rows added since are a short *tail*
in reading order, which a query scans. When the tail grows past a fraction of the base the two are
merged, so a write costs next to nothing and no query ever waits for a rebuild of everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

_MERGE_AT_LEAST = 20_000
_MERGE_SHARE = 8
_LEAST_BITS, _ROOM = 16, 4
"""At least as many times more places than terms, so that nearly every term that stands nowhere is known at a glance."""

Rows = NDArray[np.int32]
Counts = NDArray[np.float32]
_Number = TypeVar("_Number", np.uint32, np.int32)


@dataclass(frozen=True, slots=True)
class Postings:
    """An immutable view; ``extended`` gives the next one. Views share memory that is only ever appended to."""

    vocabulary: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    rows: Rows
    counts: NDArray[np.uint8]
    tail_terms: NDArray[np.uint32]
    tail_rows: Rows
    tail: int
    met: NDArray[np.bool_]
    """By the last bits of a term, whether any row ever had one that ends so."""

    @classmethod
    def build(cls, terms: NDArray[np.uint32], rows: Rows) -> Self:
        """Invert pairs of term and row. Sorting one 64-bit key is several times quicker than sorting pairs."""
        keys = np.sort(terms.astype(np.uint64) << np.uint64(32) | rows.astype(np.uint64))
        firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if keys.size else keys.astype(np.int64)
        counts = np.diff(np.append(firsts, keys.size)).clip(max=255).astype(np.uint8)
        pairs = keys[firsts]
        found = (pairs >> np.uint64(32)).astype(np.uint32)
        starts = np.flatnonzero(np.concatenate(([True], found[1:] != found[:-1]))) if found.size else firsts
        met = np.zeros(1 << max(_LEAST_BITS, (_ROOM * starts.size).bit_length()), dtype=np.bool_)
        met[found & np.uint32(met.size - 1)] = True
        return cls(
            vocabulary=found[starts],
            offsets=np.append(starts, found.size),
            rows=(pairs & np.uint64(0xFFFFFFFF)).astype(np.int32),
            counts=counts,
            tail_terms=np.empty(1024, dtype=np.uint32),
            tail_rows=np.empty(1024, dtype=np.int32),
            tail=0,
            met=met,
        )

    def extended(self, terms: NDArray[np.uint32], rows: Rows) -> Self:
        """The view that has these pairs as well."""
        size = self.tail + terms.size
        if size > max(_MERGE_AT_LEAST, self.rows.size // _MERGE_SHARE):
            return self._merged(terms, rows)
        tail_terms, tail_rows = self.tail_terms, self.tail_rows
        if size > tail_terms.size:
            tail_terms = _grown(tail_terms, size)
            tail_rows = _grown(tail_rows, size)
        tail_terms[self.tail : size] = terms
        tail_rows[self.tail : size] = rows
        self.met[terms & np.uint32(self.met.size - 1)] = True
        return replace(self, tail_terms=tail_terms, tail_rows=tail_rows, tail=size)

    def lists(self, term: int) -> Iterator[tuple[Rows, Counts]]:
        """The rows with that term and how often each has it; no row comes twice."""
        place = int(np.searchsorted(self.vocabulary, np.uint32(term)))
        if place < self.vocabulary.size and self.vocabulary[place] == term:
            span = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
            yield self.rows[span], self.counts[span].astype(np.float32)
        recent = self.tail_rows[: self.tail][self.tail_terms[: self.tail] == np.uint32(term)]
        if recent.size:
            # A row's terms were added together, so equal numbers stand next to each other.
            firsts = np.flatnonzero(np.concatenate(([True], recent[1:] != recent[:-1])))
            yield recent[firsts], np.diff(np.append(firsts, recent.size)).astype(np.float32)

    def likely(self, terms: Sequence[int]) -> set[int]:
        """Those of many terms that rows may have: most of them stand nowhere, which the last bits of a term tell."""
        wanted = np.array(terms, dtype=np.uint32)
        return set(wanted[self.met[wanted & np.uint32(self.met.size - 1)]].tolist())

    def kept(self, rows: NDArray[np.int64], size: int) -> Self:
        """The view in which only these of ``size`` rows are left, numbered anew in their order."""
        numbers = np.full(size, -1, dtype=np.int32)
        numbers[rows] = np.arange(len(rows), dtype=np.int32)
        terms, old = self._pairs()
        new = numbers[old]
        return self.build(terms[new >= 0], new[new >= 0])

    def _pairs(self) -> tuple[NDArray[np.uint32], Rows]:
        per_term = np.diff(self.offsets)
        again = np.repeat(np.repeat(self.vocabulary, per_term), self.counts)
        return (
            np.concatenate((again, self.tail_terms[: self.tail])),
            np.concatenate((np.repeat(self.rows, self.counts), self.tail_rows[: self.tail])),
        )

    def _merged(self, terms: NDArray[np.uint32], rows: Rows) -> Self:
        old_terms, old_rows = self._pairs()
        return self.build(np.concatenate((old_terms, terms)), np.concatenate((old_rows, rows)))


@dataclass(frozen=True, slots=True)
class Collection:
    """The rows a query may see, and their lengths: BM25's statistics are taken over nothing else.

    Were they taken over all rows, a flood of hearsay could reorder what may act by making its words common.
    """

    visible: NDArray[np.bool_] | None
    count: int
    penalty: NDArray[np.float32]
    """For each row k1 * (1 - b + b * length / mean length)."""


@dataclass(frozen=True, slots=True)
class Bm25:
    """The scoring constants."""

    k1: float = 1.2
    b: float = 0.75
    prior_documents: float = 200.0
    """Imagined memories without any of the words, so that in a keep of three a word can still be rare."""

    def penalties(self, lengths: NDArray[np.uint16], mean: float) -> NDArray[np.float32]:
        """The length penalty of each row."""
        shares = lengths.astype(np.float32) * np.float32(self.k1 * self.b / max(mean, 1.0))
        shares += np.float32(self.k1 * (1 - self.b))
        return shares

    def coverage(
        self,
        postings: Postings,
        terms: Sequence[int],
        among: Collection,
        also: Mapping[int, Sequence[int]] = MappingProxyType({}),
    ) -> NDArray[np.float32]:
        """For each row how much of the query's weight its words cover, from 0 to nearly 1.

        A word that no visible row has still counts in the total, so a question about
        something else altogether covers little and can be turned away. ``also`` are terms that stand for the same
        word.
        """
        scores = np.zeros(among.penalty.size, dtype=np.float32)
        others = postings.likely([one for number in terms for one in also.get(number, ())])
        total = 0.0
        for number in terms:
            found = list(postings.lists(number))
            if others:
                found += [pair for one in others.intersection(also.get(number, ())) for pair in postings.lists(one)]
            weight = self._rarity(found, among)
            total += weight
            for rows, counts in found:
                saturated = counts * np.float32(weight)
                saturated /= counts + among.penalty[rows]
                scores[rows] += saturated
        return scores / np.float32(total) if total > 0 else scores

    def _rarity(self, found: list[tuple[Rows, Counts]], among: Collection) -> float:
        having = sum(
            int(rows.size if among.visible is None else np.count_nonzero(among.visible[rows])) for rows, _ in found
        )
        documents = among.count + self.prior_documents
        return float(np.log1p((documents - having + 0.5) / (having + 0.5)))


def _grown(column: NDArray[_Number], size: int) -> NDArray[_Number]:
    larger: NDArray[_Number] = np.empty(max(size, column.size * 2), dtype=column.dtype)
    larger[: column.size] = column
    return larger
