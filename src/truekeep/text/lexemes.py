"""Fold inflections and synonyms, so that two wordings of one fact meet in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from truekeep.data import read_table
from truekeep.text.language import entries


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
