"""Whether a call undoes what was asked for: "lock the gate" is no request to unlock it, though gate and owner fit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise

from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.forms import bare_letters, name_words
from truekeep.trust.flow.reading import read_table
from truekeep.trust.flow.roles import ArgumentRole

_CHOICE_WORDS = 2
"""Words of a value that may say what is to be done: ``{"service": "turn_off"}``."""
Side = frozenset[str]


def undoes(heads: Iterable[str], asked: Iterable[str], call: ToolCall) -> bool:
    """Whether a request stands on one side of a pair of acts and the call on the other.

    The verb that opens the request decides, else any word of it does.
    """
    said, opening = _spoken(asked), _spoken(heads)
    done = [_spoken(name_words(call.name))]
    done += [
        _spoken(words)
        for leaf in call.leaves
        if leaf.role is not ArgumentRole.CONTENT and isinstance(leaf.value, str)
        if len(words := name_words(leaf.text)) <= _CHOICE_WORDS and words and not said.issuperset(words)
    ]
    return any(
        (wanted := _first(_side(pair, opening), _side(pair, said))) is not None
        and any(_side(pair, words) == 1 - wanted for words in done)
        for pair in _pairs()
    )


def _spoken(words: Iterable[str]) -> frozenset[str]:
    """Words as the table spells them, and each with the next one: "turn on" as ``turn_on``."""
    row = tuple(bare_letters(word).replace("ß", "ss") for word in words)
    return frozenset((*row, *(f"{first}_{second}" for first, second in pairwise(row))))


def _side(pair: tuple[Side, Side], words: frozenset[str]) -> int | None:
    """The side of a pair that words stand on; the marked one if they have both."""
    return next((side for side in (1, 0) if any(_has(pair[side], word) for word in words)), None)


def _first(head: int | None, any_word: int | None) -> int | None:
    return any_word if head is None else head


def _has(side: Side, word: str) -> bool:
    return f"{word}=" in side or any(word[:length] in side for length in range(1, len(word) + 1))


@cache
def _pairs() -> tuple[tuple[Side, Side], ...]:
    return tuple(
        (frozenset(pair["one"]), frozenset(pair["other"])) for pair in read_table("act", "opposites.toml")["pair"]
    )
