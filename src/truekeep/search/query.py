"""Understands a question: what it is about, whom it names, which days it means and what kind of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import date

from truekeep.search.dates import Period, periods
from truekeep.search.words import is_negation, term, word_lists, words

MAX_TERMS = 64
"""Distinct terms searched for; a longer question is a pasted text, and its first words tell enough."""
_MAX_CHARACTERS = 16_000
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019]s\b)?")
_COUNTING = ("many", "much", "often", "long", "old")


@dataclass(frozen=True, slots=True)
class Query:
    """A question as the index takes it."""

    terms: tuple[int, ...]
    """What it asks about; the names of known speakers are left out."""
    names: tuple[int, ...] = ()
    """The known speakers that it names."""
    meaning: str = ""
    """What to embed: the question without those names, since a turn does not repeat its speaker's name."""
    asks_when: bool = False
    asks_how_many: bool = False
    periods: tuple[Period, ...] = ()


def understand(text: str, *, known: Container[int] = frozenset(), today: date) -> Query:
    """Read a question. ``known`` are the terms of the speakers in the keep; nothing in ``text`` is syntax."""
    cut = text[:_MAX_CHARACTERS]
    found = words(cut)
    names, meaning = _named(cut, known)
    searched = [term(word) for word in found if not is_negation(word)]
    content = tuple(dict.fromkeys(number for number in searched if number and number not in names))[:MAX_TERMS]
    opening = found[:2]
    return Query(
        terms=content or names,
        names=names,
        meaning=meaning if content else cut,
        asks_when=opening[:1] == ["when"],
        asks_how_many=opening[:1] == ["how"] and opening[1:] != [] and opening[1] in _COUNTING,
        periods=periods(cut, today),
    )


def _named(text: str, known: Container[int]) -> tuple[tuple[int, ...], str]:
    """The known names in the text, and the text without them."""
    names: list[int] = []
    lower = text.islower()

    def drop(match: re.Match[str]) -> str:
        token = match[0]
        bare = token[:-2] if token[-2:-1] in ("'", "\u2019") else token
        number = _name_term(bare) if lower or bare[:1].isupper() else 0
        if not number or number not in known:
            return token
        names.append(number)
        return ""

    kept = _TOKEN.sub(drop, text)
    return tuple(dict.fromkeys(names))[:8], " ".join(kept.split())


def _name_term(word: str) -> int:
    folded = words(word)
    is_plain = len(folded) == 1 and folded[0] not in word_lists()["label"]
    return term(folded[0]) if is_plain else 0
