"""A small learned second opinion on the embedding that the store computes anyway, plus what the grammar saw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from truekeep.screens.base import Screened
from truekeep.screens.grammar import CATEGORIES, VERBS, Sentence
from truekeep.screens.instruction import sentences_of
from truekeep.types import Finding, Severity, Threat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCREEN = "learned"
# The order of the features in the weights; a change here needs a new training.
COMMANDS = tuple(sorted(VERBS | {"secret", "skip"}))
SAYS = tuple(sorted(CATEGORIES))


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of a logistic regression: the vector first, then the grammar's features, then the bias."""

    weights: NDArray[np.float32]
    threshold: float
    dimensions: int


def grammar_features(sentences: list[Sentence]) -> list[float]:
    """One number for each thing the grammar can see, 1 if any sentence shows it."""
    commands = {name for sentence in sentences for name in sentence.commands}
    says = {name for sentence in sentences for name in sentence.says}
    overrides = any(sentence.overrides_rules for sentence in sentences)
    return [
        *(float(name in commands) for name in COMMANDS),
        *(float(name in says) for name in SAYS),
        float(overrides),
    ]


@cache
def head() -> Head:
    """The weights that come with the package; plain arrays, never unpickled."""
    import numpy as np  # noqa: PLC0415 - only stores that embed need it

    with as_file(files("truekeep").joinpath("data", "screens", "head.npz")) as path, np.load(path) as stored:
        weights = stored["weights"].astype(np.float32)
        return Head(weights, float(stored["threshold"]), len(weights) - len(COMMANDS) - len(SAYS) - 2)


def score(screened: Screened) -> float | None:
    """How much the text looks like an order, as log-odds; ``None`` without a vector of the right size."""
    if screened.vector is None or len(screened.vector) != head().dimensions:
        return None
    import numpy as np  # noqa: PLC0415 - only stores that embed need it

    sentences = [sentence for _, found in sentences_of(screened, "text") for sentence in found]
    features = np.concatenate([np.asarray(screened.vector), grammar_features(sentences), [1.0]])
    return float(features @ head().weights)


def learned(screened: Screened) -> list[Finding]:
    """A finding when the score is above the threshold; it only ever adds to what the grammar reports."""
    if "text" not in screened.fields:
        return []
    value = score(screened)
    if value is None or not value > head().threshold:
        return []
    return [
        Finding(
            "learned_directive",
            Threat.DIRECTIVE,
            Severity.MEDIUM,
            (0, len(screened.fields["text"])),
            "text",
            SCREEN,
            reason="resembles known orders to assistants more than any honest memory",
        )
    ]
