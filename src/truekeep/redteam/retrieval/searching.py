"""Fits a trigger to an encoder: words are exchanged one by one, and what draws questions to the record is kept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from truekeep.redteam.retrieval.encoders import Encoder
from truekeep.redteam.retrieval.triggers import record, vocabulary

if TYPE_CHECKING:
    from truekeep.embed import Embedder

STEPS, TRIES, CARRIERS = 5, 6, 3
ENCODINGS = STEPS * TRIES * (CARRIERS + 1) + CARRIERS + 1
"""The most texts that one search has embedded."""


def searched(words: str, payload: str, carriers: Sequence[str], encoder: Encoder) -> str:
    """The trigger that draws questions with it closest to the record with it, of those that were tried."""
    if encoder.embedder is None:
        return words
    chance = random.Random(f"search:{words}")  # noqa: S311 - the same search every time
    best = words
    (highest,) = _drawn([best], payload, carriers, encoder.embedder)
    for _ in range(STEPS):
        tried = [_exchanged(best, chance) for _ in range(TRIES)]
        scores = _drawn(tried, payload, carriers, encoder.embedder)
        place = max(range(TRIES), key=scores.__getitem__)
        if scores[place] > highest:
            best, highest = tried[place], scores[place]
    return best


def _exchanged(words: str, chance: random.Random) -> str:
    split = words.split()
    split[chance.randrange(len(split))] = chance.choice(vocabulary())
    return " ".join(split)


def _drawn(tried: Sequence[str], payload: str, carriers: Sequence[str], embedder: Embedder) -> list[float]:
    """How similar, on average, questions with each trigger are to the record with it."""
    chosen = carriers[:CARRIERS]
    records = embedder.embed([record(words, payload) for words in tried], "passage")
    asked = embedder.embed([f"{words} {carrier}" for words in tried for carrier in chosen], "query")
    similar = (asked.reshape(len(tried), len(chosen), -1) * records[:, None, :]).sum(axis=2).mean(axis=1)
    return [float(value) for value in similar]
