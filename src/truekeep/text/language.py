"""The languages that are read here, which of them a short text is in, and the words that mean the same in all of them.

All that is known of a language is in its folder, ``data/languages/XX``: ``words.toml``, ``dates.toml`` and
``numbers.toml`` are read here, the others by whoever needs them. Adding a language is adding a folder; one that lacks
a table is left out where that table is needed, and a list that is left out is empty.

A *lexeme* stands for a word, its inflections and its synonyms, so that two wordings of one fact meet in the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from truekeep.data import folders_with, read_table

_FOLDER = "languages"
_LAST = 1_000
"""The place of a language that does not say its own."""
ROLES = (
    "articles", "other", "fillers", "place", "pronouns", "by", "since", "until", "for", "of",
    "has", "future", "past", "present", "own", "self", "negations",
)  # fmt: skip
"""Roles of function words; where a word has several, the later role wins."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language's tables. ``roles`` maps a function word to what it does in a clause."""

    name: str
    stemmer: str
    letters: frozenset[str]
    roles: Mapping[str, str]
    indefinite: frozenset[str]
    identifiers: frozenset[str]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    days: Mapping[str, int]
    spans: Mapping[str, int]
    long_spans: Mapping[str, str]
    seasons: Mapping[str, int]
    last: frozenset[str]
    next: frozenset[str]
    ago: frozenset[str]
    ahead: frozenset[str]
    numbers: Mapping[str, int]
    joiners: frozenset[str]
    weak: frozenset[str]
    glued: bool
    capital_nouns: bool
    """Whether every noun has a capital, so that a capital proves no name."""


@cache
def languages_with(table: str) -> tuple[str, ...]:
    """The languages that have a table (``words``, ``commands``, ``statements``); where two fit, the earlier wins."""
    return tuple(sorted(folders_with(f"{table}.toml", _FOLDER), key=lambda name: (_order(name), name)))


@cache
def _order(name: str) -> int:
    order: int = language_table(name, "words").get("order", _LAST)
    return order


@cache
def language_table(name: str, table: str) -> Mapping[str, Any]:
    """One table of a language as it is written; empty where there is none."""
    try:
        return read_table(_FOLDER, name, f"{table}.toml")
    except FileNotFoundError:
        return {}


def names() -> tuple[str, ...]:
    """The languages whose words are known, the likelier first."""
    return languages_with("words")


@cache
def language(name: str) -> Language:
    """The tables of one language."""
    words, dates, numbers = (language_table(name, table) for table in ("words", "dates", "numbers"))
    return Language(
        name=name,
        stemmer=words.get("stemmer", ""),
        letters=frozenset(words.get("letters", "")),
        roles={word: role for role in ROLES for word in words.get(role, ())},
        indefinite=_set(words, "indefinite"),
        identifiers=_set(words, "identifiers"),
        months=dates.get("months", {}),
        weekdays=dates.get("weekdays", {}),
        days=dates.get("days", {}),
        spans=dates.get("spans", {}),
        long_spans=dates.get("long_spans", {}),
        seasons=dates.get("seasons", {}),
        last=_set(dates, "last"),
        next=_set(dates, "next"),
        ago=_set(dates, "ago"),
        ahead=_set(dates, "ahead"),
        numbers=numbers.get("numbers", {}),
        joiners=_set(numbers, "joiners"),
        weak=_set(numbers, "weak"),
        glued=numbers.get("glued", False),
        capital_nouns=words.get("capital_nouns", False),
    )


def _set(table: Mapping[str, Any], key: str) -> frozenset[str]:
    return frozenset(table.get(key, ()))


def entries(table: str, key: str) -> Iterable[Any]:
    """What every language that has it holds under one key of a table, in the order of the languages."""
    return (found[key] for name in languages_with(table) if key in (found := language_table(name, table)))


@cache
def function_words() -> frozenset[str]:
    """The function words of all languages."""
    return frozenset(word for name in names() for word in language(name).roles)


@cache
def _votes() -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for index, name in enumerate(names()):
        tables = language(name)
        telling = {*tables.roles, *tables.days, *tables.weekdays, *tables.months, *tables.identifiers}
        telling |= {*tables.spans, *tables.long_spans, *tables.last, *tables.next, *tables.ago}
        # Short number words mean other things elsewhere: "due", "once", "six".
        for word in telling | {number for number in tables.numbers if len(number) > 4}:
            found.setdefault(word, []).append(index)
    return {word: tuple(indices) for word, indices in found.items()}


@cache
def _letter_votes() -> dict[str, tuple[int, ...]]:
    letters = {letter for name in names() for letter in language(name).letters}
    return {
        letter: tuple(index for index, name in enumerate(names()) if letter in language(name).letters)
        for letter in letters
    }


def language_of(words: Iterable[str]) -> Language:
    """The language most of whose function words and letters occur; English when nothing speaks for another."""
    votes, counts = _votes(), [0] * len(names())
    for word in words:
        for index in votes.get(word, ()):
            counts[index] += 1
        if not word.isascii():
            for letter in word:
                for index in _letter_votes().get(letter, ()):
                    counts[index] += 1
    return language(names()[counts.index(max(counts))])


@dataclass(frozen=True, slots=True)
class Units:
    """The tables about money, units and the like."""

    symbols: dict[str, str]
    currencies: dict[str, str]
    scales: dict[str, int]
    units: frozenset[str]
    file_endings: frozenset[str]
    year_cues: frozenset[str]
    percent: frozenset[str]
    booleans: dict[str, str]


@cache
def units() -> Units:
    """The tables, read once."""
    table: dict[str, Any] = read_table("salient", "units.toml")
    spoken = (table["currencies"], *entries("numbers", "currencies"))
    currencies = {word: code for words_of in spoken for code, words in words_of.items() for word in words}
    return Units(
        symbols=table["symbols"],
        currencies=currencies,
        scales={word: times for scales in entries("numbers", "scales") for word, times in scales.items()},
        units=frozenset(table["units"]),
        file_endings=frozenset(table["file_endings"]),
        year_cues=_all("dates", "year_cues"),
        percent=_all("numbers", "percent"),
        booleans=dict.fromkeys(_all("words", "true"), "true") | dict.fromkeys(_all("words", "false"), "false"),
    )


def _all(table: str, key: str) -> frozenset[str]:
    """A list of words, over all languages."""
    return frozenset(word for words in entries(table, key) for word in words)


@dataclass(frozen=True, slots=True)
class KnownWords:
    """``common`` words prove that a decoding is language; ``telling`` ones are what disguises hide."""

    common: frozenset[str]
    telling: frozenset[str]

    known: frozenset[str]
    """Both kinds."""


@cache
def known_words() -> KnownWords:
    """The words that show that something is language."""
    common = frozenset(word for text in entries("commands", "common") for word in text.split())
    telling = frozenset(word for text in entries("commands", "telling") for word in text.split())
    return KnownWords(common, telling, common | telling)


@dataclass(frozen=True, slots=True)
class Lexemes:
    """Synonym tables. ``phrases`` maps two or three stems in a row to the one word they stand for."""

    words: dict[str, str]
    phrases: dict[tuple[str, ...], str]
    phrase_ends: frozenset[str]
    attributes: frozenset[str]
    identifying: frozenset[str]
    verbs: frozenset[str]
    functional: frozenset[str]
    changes: dict[str, str]
    several: frozenset[str]
    single: dict[str, frozenset[str]]
    """What a subject has one of at a time, by how its answers look."""


@cache
def lexemes() -> Lexemes:
    """The tables, read once."""
    table: dict[str, Any] = read_table("claims", "attributes.toml")
    single: dict[str, list[str]] = dict(table["single"])
    for kind in ("ended", "current"):
        single[kind] = [word for changes in entries("words", "changes") for word in changes.get(kind, ())]
    words: dict[str, str] = {}
    phrases: dict[tuple[str, ...], str] = {}
    for canonical, spelling in _spellings(table, "attributes", "verbs"):
        parts = spelling.split()
        if len(parts) == 1:
            words[spelling] = canonical
        else:
            phrases[tuple(words.get(part) or stem(part) for part in parts)] = canonical
    spelled = words | {word: word for word in (*table["attributes"], *table["verbs"])}
    return Lexemes(
        words=words,
        phrases=phrases,
        phrase_ends=frozenset(phrase[-1] for phrase in phrases),
        attributes=frozenset(table["attributes"]),
        identifying=frozenset(table["identifying"]["attributes"]),
        verbs=frozenset(table["verbs"]),
        functional=frozenset(table["functional"]["verbs"]),
        changes={stem(verb): to for verb, to in table["changes"].items()},
        several=frozenset(table["several"]["attributes"]),
        single={kind: frozenset(spelled.get(word) or stem(word) for word in listed) for kind, listed in single.items()},
    )


def _spellings(table: dict[str, Any], *groups: str) -> Iterator[tuple[str, str]]:
    """Every name of an attribute or a verb with each of its spellings in any language."""
    for group in groups:
        for canonical in table[group]:
            for spelt in entries("words", group):
                yield from ((canonical, spelling) for spelling in spelt.get(canonical, ()))


def stem(word: str) -> str:
    """A word without plural or third-person ending and final e; tenses stay apart, because they differ in fact."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


@lru_cache(maxsize=16_384)
def _lexeme(word: str) -> str:
    known = lexemes().words.get(word)
    return known if known is not None else stem(word)


_LONGEST_CACHED = 24  # longer words are rare or made up, and would fill the cache


def lexeme(word: str) -> str:
    """The word that stands for this one and its synonyms."""
    return _lexeme(word) if len(word) <= _LONGEST_CACHED else stem(word)
