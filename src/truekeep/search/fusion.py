"""Puts the signals of a search together with weights that were learned, not guessed.

``data/search/fusion.toml`` holds them; ``docs/recall.md`` says how they were found.
"""

from __future__ import annotations

import base64
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

WORD_SIGNALS = ("words", "pieces", "words_before", "words_after", "words_around")
MEANING_SIGNALS = ("meaning", "whole", "meaning_before", "meaning_after")
CONTEXT_SIGNALS = ("speaker", "name", "date", "says_when", "says_how_many", "question")
OWN_SIGNALS = ("words", "pieces", "meaning", "whole")
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


@dataclass(frozen=True, slots=True)
class Measurements:
    """What was measured of a model; nothing of one that nobody measured."""

    scale: Scale | None = None
    languages: frozenset[str] = frozenset()
    """Those it reads, where it does not read every language."""
    usual_question: NDArray[np.float32] | None = None

    def centred(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """A question's vector without some of what all questions share: what is left says more of what it is about."""
        if self.usual_question is None or vector.shape != self.usual_question.shape:
            return vector
        rest: NDArray[np.float32] = vector - np.float32(_SHARED) * self.usual_question
        length = float(np.linalg.norm(rest))
        return (rest / length).astype(np.float32) if length > 0 else vector


_SHARED = 0.25
"""How much of the usual question is taken off: all of it helps with short facts and harms with long talk."""


@cache
def learned(name: str) -> Weights:
    """The weights for questions about the ``owner``'s own words, in a ``foreign`` language, about somebody's turns of a
    ``dialogue``, or by ``keywords`` where there are no vectors.
    """
    table = _file()[name]
    return Weights(
        weights=dict(table["weights"]),
        middle=float(table["middle"]),
        gate=float(table["gate"]),
        floor=float(table["floor"]),
    )


def measurements(model_id: str | None) -> Measurements:
    """What was measured of a model."""
    table = _file()["models"].get(model_id)
    if table is None:
        return Measurements()
    packed = base64.b64decode(table.get("usual_question", ""))
    usual = np.frombuffer(packed, dtype="<f2").astype(np.float32) if packed else None
    scale = Scale(float(table["centre"]), float(table["spread"]))
    return Measurements(scale, frozenset(table["languages"]), usual)


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
