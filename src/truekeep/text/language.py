"""Guess which language a short text is in, and hand out that language's function words, numbers and dates."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

NAMES = ("en", "de", "fr", "es", "it", "pt", "nl", "sk", "cs", "pl")
"""Known languages; on a tie the earlier one wins."""
ROLES = (
    "articles", "other", "fillers", "place", "pronouns", "by", "since", "until", "for", "of",
    "has", "future", "past", "present", "own", "self", "negations",
)  # fmt: skip
"""Roles of function words; where a word has several, the later role wins."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language's tables. ``roles`` maps a function word to what it does in a clause."""

    name: str
    letters: frozenset[str]
    roles: Mapping[str, str]
    indefinite: frozenset[str]
    identifiers: frozenset[str]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    days: Mapping[str, int]
    spans: Mapping[str, int]
    long_spans: Mapping[str, str]
    last: frozenset[str]
    next: frozenset[str]
    ago: frozenset[str]
    ahead: frozenset[str]
    numbers: Mapping[str, int]
    joiners: frozenset[str]
    weak: frozenset[str]
    glued: bool


def read_table(*path: str) -> dict[str, Any]:
    """A TOML table from the package's data."""
    return tomllib.loads(files("truekeep").joinpath("data", *path).read_text(encoding="utf-8"))


@cache
def language(name: str) -> Language:
    """The tables of one language."""
    table = read_table("languages", f"{name}.toml")
    grammar = table["number_grammar"]
    return Language(
        name=name,
        letters=frozenset(table["letters"]),
        roles={word: role for role in ROLES for word in table[role]},
        indefinite=frozenset(table["indefinite"]),
        identifiers=frozenset(table["identifiers"]),
        months=table["months"],
        weekdays=table["weekdays"],
        days=table["days"],
        spans=table["spans"],
        long_spans=table["long_spans"],
        **{name: frozenset(table[name]) for name in ("last", "next", "ago", "ahead")},
        numbers=table["numbers"],
        joiners=frozenset(grammar["joiners"]),
        weak=frozenset(grammar["weak"]),
        glued=grammar["glued"],
    )


@cache
def function_words() -> frozenset[str]:
    """The function words of all languages."""
    return frozenset(word for name in NAMES for word in language(name).roles)


@cache
def _votes() -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for index, name in enumerate(NAMES):
        tables = language(name)
        telling = {*tables.roles, *tables.days, *tables.weekdays, *tables.months, *tables.identifiers}
        telling |= {*tables.spans, *tables.long_spans, *tables.last, *tables.next, *tables.ago}
        # Short number words mean other things elsewhere: "due", "once", "six".
        for word in telling | {number for number in tables.numbers if len(number) > 4}:
            found.setdefault(word, []).append(index)
    return {word: tuple(indices) for word, indices in found.items()}


@cache
def _letter_votes() -> dict[str, tuple[int, ...]]:
    letters = {letter for name in NAMES for letter in language(name).letters}
    return {
        letter: tuple(index for index, name in enumerate(NAMES) if letter in language(name).letters)
        for letter in letters
    }


def language_of(words: Iterable[str]) -> Language:
    """The language most of whose function words and letters occur; English when nothing speaks for another."""
    votes, counts = _votes(), [0] * len(NAMES)
    for word in words:
        for index in votes.get(word, ()):
            counts[index] += 1
        if not word.isascii():
            for letter in word:
                for index in _letter_votes().get(letter, ()):
                    counts[index] += 1
    return language(NAMES[counts.index(max(counts))])
