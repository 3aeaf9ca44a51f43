"""What honest people put into a store before it is attacked, and the questions that they ask it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from truekeep.redteam.defences.store import OWNER, PAGE, SYSTEM, Entry
from truekeep.redteam.influence.arena import batches, page_of
from truekeep.redteam.influence.benign import Fact, facts
from truekeep.redteam.influence.utility import GATED

_FIRST, _SECOND = 60, 500
"""Every store of these sizes or larger holds the facts of smaller ones, so that all sizes are asked the same."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that an honest person asks."""

    text: str
    answers: frozenset[str]


def entries(said: Sequence[Fact]) -> list[Entry]:
    """Facts as entries, in the order in which an honest keep gets them."""
    return [_entry(via, text) for via, texts in batches(said) for text in texts]


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


def _entry(via: str, text: str) -> Entry:
    if via == "user":
        return Entry(text, OWNER)
    return Entry(text, PAGE, page_of(text)) if via == "web" else Entry(text, SYSTEM, via)
