"""Many index cards as columns: what loading works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truekeep.search.card import HEADER, LAST_DAY, MAX_SPEAKER_TERMS, MOST_WINDOWS, VERSION
from truekeep.search.places import spread

_TERMS, _VALUES, _NAME, _VECTOR = 6, 7, 8, 9


@dataclass(frozen=True, slots=True)
class Deck:
    """Many cards as columns: what loading works on. ``kept`` are the places of the cards that could be read."""

    kept: NDArray[np.int64]
    flags: NDArray[np.uint8]
    day: NDArray[np.int32]
    thread: NDArray[np.uint64]
    wording: NDArray[np.uint64]
    speakers: list[tuple[int, ...]]
    lengths: NDArray[np.int64]
    terms: NDArray[np.uint32]
    vectors: NDArray[np.int64]
    """With how many vectors of the model that was asked for the card ends: one for each window of the text."""


def unpack(cards: Sequence[bytes], model: str = "", size: int = 0) -> Deck:
    """Read many cards at once; one that is damaged or of another version is left out, never guessed at.

    ``model`` and the ``size`` of its packed vectors say which vectors count.
    """
    sizes = np.fromiter(map(len, cards), dtype=np.int64, count=len(cards))
    whole = np.flatnonzero((sizes % 4 == 0) & (sizes >= HEADER * 4))
    usable = cards if len(whole) == len(cards) else [cards[place] for place in whole.tolist()]
    flat = np.frombuffer(b"".join(usable), dtype="<u4")
    spans = sizes[whole] // 4
    starts = np.cumsum(spans) - spans
    heads = flat[starts]
    names, lengths = (heads & 0xFF).astype(np.int64), flat[starts + _TERMS].astype(np.int64)
    ends = HEADER + names + lengths
    rest = flat[starts + _VALUES].astype(np.int64) + flat[starts + _NAME] + flat[starts + _VECTOR]
    fits = (heads >> 24 == VERSION) & (names <= MAX_SPEAKER_TERMS) & (ends + (rest + 3) // 4 == spans)
    if not fits.all():
        whole, starts, heads, names, lengths, ends = (
            column[fits] for column in (whole, starts, heads, names, lengths, ends)
        )
    days = flat[starts + 1]
    return Deck(
        kept=whole,
        flags=(heads >> 16 & 0xFF).astype(np.uint8),
        day=np.where(days <= LAST_DAY, days, 0).astype(np.int32),
        thread=_long(flat, starts + 2),
        wording=_long(flat, starts + 4),
        speakers=_speakers(flat, starts + HEADER, names),
        lengths=lengths,
        terms=flat[spread(starts + HEADER + names, lengths)].astype(np.uint32),
        vectors=_made_by(model.encode(), size, flat, starts, ends),
    )


def joined(decks: Sequence[Deck]) -> Deck:
    """Several decks as one; ``kept`` counts on within each."""
    if len(decks) == 1:
        return decks[0]
    if not decks:
        return unpack([])
    columns = {
        name: np.concatenate([getattr(deck, name) for deck in decks])
        for name in ("kept", "flags", "day", "thread", "wording", "lengths", "terms", "vectors")
    }
    return Deck(**columns, speakers=[speaker for deck in decks for speaker in deck.speakers])


def _made_by(
    model: bytes, size: int, flat: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many vectors of that size by that model each card has."""
    counts, rest = np.divmod(flat[starts + _VECTOR].astype(np.int64), max(size, 1))
    found = (flat[starts + _NAME] == len(model)) & (rest == 0) & (counts <= MOST_WINDOWS) & (size > 0) & (counts > 0)
    places = np.flatnonzero(found)
    if places.size:
        firsts = (4 * (starts + ends) + flat[starts + _VALUES])[places]
        names = flat.view(np.uint8)[firsts[:, None] + np.arange(len(model))]
        found[places] = (names == np.frombuffer(model, dtype=np.uint8)).all(axis=1)
    return np.where(found, counts, 0)


def _long(flat: NDArray[np.uint32], places: NDArray[np.int64]) -> NDArray[np.uint64]:
    return flat[places].astype(np.uint64) | flat[places + 1].astype(np.uint64) << np.uint64(32)


def _speakers(flat: NDArray[np.uint32], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> list[tuple[int, ...]]:
    speakers: list[tuple[int, ...]] = [()] * len(starts)
    for place in np.flatnonzero(counts).tolist():
        first = int(starts[place])
        speakers[place] = tuple(flat[first : first + int(counts[place])].tolist())
    return speakers
