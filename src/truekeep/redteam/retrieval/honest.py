"""The questions that honest people ask a store, the same ones at every size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from truekeep.redteam.influence.benign import facts
from truekeep.redteam.influence.utility import GATED

_FIRST, _SECOND = 60, 500
"""Every store of these sizes or larger holds the facts of smaller ones, so that all sizes are asked the same."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that an honest person asks."""

    text: str
    answers: frozenset[str]


@cache
def questions(many: int, seed: int = 0) -> tuple[Question, ...]:
    """So many questions about facts that may act: all of the smallest store's, then one for each further fact."""
    asked = {question.text: question for question in _asked(seed)}
    chosen = tuple(asked.values())[:many]
    if len(chosen) < many:
        raise ValueError(f"there are only {len(chosen)} honest questions")
    return chosen


def _asked(seed: int) -> Iterator[Question]:
    for size, most in ((_FIRST, 3), (_SECOND, 1), (_SECOND, 3)):
        for fact in facts(size, seed):
            if fact.group in GATED:
                yield from (Question(question, fact.answers) for question in fact.questions[:most])
