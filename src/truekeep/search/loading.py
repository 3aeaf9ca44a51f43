"""Reads cards a part at a time into columns, so that what is being loaded is never in memory twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from truekeep.search.deck import Deck, joined, unpack
from truekeep.search.matrix import Matrix, packed_size, unpacked

Entry = tuple[int, bytes]
"""A memory for the index: its place and its card, whose vector counts if the index's model made it."""
_PART = 2_048
"""Few enough that their bytes stay in the processor's cache from one step to the next."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Cards that were read: their places, what they say, and the matrix with their vectors at its end."""

    seqs: list[int]
    deck: Deck
    matrix: Matrix | None
    has_vector: NDArray[np.bool_]
    windows: NDArray[np.int64]
    """How many rows of the matrix each has: one for each window of its text, an empty one if it has no vector."""
    unread: list[int]


def read(entries: Iterable[Entry], matrix: Matrix | None, model: str) -> Batch:
    """Read all entries; the matrix given keeps its own view and shares memory with the one that comes back."""
    seqs: list[int] = []
    unread: list[int] = []
    decks: list[Deck] = []
    sound: list[NDArray[np.bool_]] = [np.zeros(0, dtype=np.bool_)]
    windows: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    for places, cards in _parts(entries):
        deck = unpack(cards, model, packed_size(matrix.dim) if matrix else 0)
        kept = deck.kept.tolist()
        matrix, usable = _with_vectors(matrix, [cards[place] for place in kept], deck.vectors)
        decks.append(deck)
        windows.append(np.maximum(deck.vectors, 1))
        sound.append(usable)
        seqs += [places[place] for place in kept]
        if len(kept) < len(places):
            unread += [places[place] for place in sorted(set(range(len(places))).difference(kept))]
    return Batch(seqs, joined(decks), matrix, np.concatenate(sound), np.concatenate(windows), unread)


def without_vector(entries: Iterable[Entry], model: str, dim: int) -> list[int]:
    """The places of memories whose card has no vector by that model."""
    missing: list[int] = []
    for places, cards in _parts(entries):
        deck = unpack(cards, model, packed_size(dim))
        usable = set(deck.kept[deck.vectors > 0].tolist())
        missing += [seq for place, seq in enumerate(places) if place not in usable]
    return missing


def _parts(entries: Iterable[Entry]) -> Iterator[tuple[list[int], list[bytes]]]:
    remaining = iter(entries)
    while part := list(islice(remaining, _PART)):
        yield [place for place, _ in part], [card for _, card in part]


def _with_vectors(
    matrix: Matrix | None, cards: Sequence[bytes], counts: NDArray[np.int64]
) -> tuple[Matrix | None, NDArray[np.bool_]]:
    """The matrix with the rows of each card, and which of the cards have vectors that can be used."""
    present = counts > 0
    if matrix is None or not cards:
        return matrix, present
    size = packed_size(matrix.dim)
    blank = bytes(size)
    vectors = [card[-size * count :] if count else blank for card, count in zip(cards, counts.tolist(), strict=True)]
    rows, sound = unpacked(vectors, matrix.dim)
    firsts = np.cumsum(np.maximum(counts, 1)) - np.maximum(counts, 1)
    return matrix.extended(rows), np.logical_and.reduceat(sound, firsts) & present
