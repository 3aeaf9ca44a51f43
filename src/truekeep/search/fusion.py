"""Puts the signals of a search together with weights that were learned, not guessed.

``data/search/fusion.toml`` holds them; ``scripts/train_fusion.py`` writes it and says how they were found.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

Signals = dict[str, NDArray[np.float32]]

WORD_SIGNALS = ("words", "words_before", "words_after", "words_around")
MEANING_SIGNALS = ("meaning", "meaning_before", "meaning_after")
CONTEXT_SIGNALS = ("speaker", "name", "date", "says_when", "says_how_many", "question", "length")
OWN_SIGNALS = ("words", "meaning")
SIGNALS = WORD_SIGNALS + MEANING_SIGNALS + CONTEXT_SIGNALS


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each signal, and where on the sums' scale a hit begins."""

    weights: Mapping[str, float]
    middle: float
    """The usual sum of a right answer: a score of one half."""
    gate: float
    """If no memory's own words and meaning reach this, the question is about something else altogether."""
    floor: float
    """A memory whose sum does not reach this is no answer. Absolute: a strong hit cannot hide another one."""

    def total(self, signals: Signals) -> NDArray[np.float32]:
        """The weighted sum for each row."""
        return _weighted(self.weights, signals, SIGNALS)

    def evidence(self, signals: Signals) -> NDArray[np.float32]:
        """The part of the sum that is about the question itself: not who, when, how long, or next to what."""
        return _weighted(self.weights, signals, OWN_SIGNALS)

    def relevance(self, total: float) -> float:
        """The sum on a scale from 0 to 1, the same order."""
        return 1.0 / (1.0 + math.exp(min(max((self.middle - total) / 2.0, -40.0), 40.0)))


@dataclass(frozen=True, slots=True)
class Scale:
    """What brings a model's cosines to the common scale: unrelated texts about 0.1, give or take 0.1."""

    centre: float
    spread: float


@cache
def learned(name: str) -> Weights:
    """The weights called ``hybrid`` (words and meaning) or ``keywords`` (no vectors)."""
    table = _file()[name]
    return Weights(
        weights=dict(table["weights"]),
        middle=float(table["middle"]),
        gate=float(table["gate"]),
        floor=float(table["floor"]),
    )


def model_scale(model_id: str | None) -> Scale | None:
    """The measured scale of a model's cosines, or None for a model that was not measured."""
    table = _file()["models"].get(model_id)
    return None if table is None else Scale(float(table["centre"]), float(table["spread"]))


@cache
def _file() -> Mapping[str, Any]:
    source = resources.files("truekeep") / "data" / "search" / "fusion.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _weighted(weights: Mapping[str, float], signals: Signals, names: tuple[str, ...]) -> NDArray[np.float32]:
    used = [name for name in names if name in signals and weights.get(name)]
    size = len(next(iter(signals.values())))
    total = np.zeros(size, dtype=np.float32)
    for name in used:
        total += signals[name] * np.float32(weights[name])
    return total
