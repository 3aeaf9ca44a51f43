"""Understands a question: what it is about, whom it names, which days it means and what kind of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import islice

from truekeep.search.dates import Period, periods
from truekeep.search.terms import (
    is_read_in_pieces,
    is_unspaced,
    labels,
    openings,
    other_terms,
    pieces,
    search_words,
    term,
)
from truekeep.text.analysis import analysed
from truekeep.text.words import words

MAX_TERMS = 64
"""Distinct terms searched for; a longer question is a pasted text, and its first words tell enough."""
_MAX_PIECES = 192
"""Parts of words searched for: each costs a look at a list."""
_MAX_CHARACTERS = 16_000  # twice the longest text; more of a question says nothing more
_MOST_NAMES = 8  # each is looked up in a list of its own
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019]s\b)?")


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
    language: str = "en"
    """The language it is in, as far as can be told."""
    pieces: tuple[int, ...] = ()
    """Parts of its words, if it is in a language whose words are matched by their parts."""
    also: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Terms that mean the same word in memories of other languages."""


def understand(text: str, *, known: Container[int] = frozenset(), today: date) -> Query:
    """Read a question. ``known`` are the terms of the speakers in the keep; nothing in ``text`` is syntax."""
    cut = text[:_MAX_CHARACTERS]
    read = analysed(cut)
    found, spoken = read.words, read.scan.language.name
    named, meaning = _named(cut, known)
    names = tuple(named)
    negations = search_words(spoken).negation
    asked = {term(word, spoken): word for word in found if word not in negations and term(word) not in names}
    content = dict(islice(((number, word) for number, word in asked.items() if number), MAX_TERMS))
    return Query(
        terms=tuple(content) or names,
        names=names,
        meaning=meaning if content else cut,
        asks_when=_opens(found, openings("when")),
        asks_how_many=_opens(found, openings("how_many")),
        periods=periods(read, today),
        language=spoken if not is_unspaced(found) else "zh",
        pieces=_pieces(found, spoken) if is_read_in_pieces(found, spoken) else (),
        also={number: other_terms(word, spoken) for number, word in content.items()}
        | {number: other_terms(word, "en") for number, word in named.items()},
    )


def _pieces(found: list[str], spoken: str) -> tuple[int, ...]:
    every = dict.fromkeys(number for word in found[:MAX_TERMS] for number in pieces(word, spoken))
    return tuple(islice(every, _MAX_PIECES))


def _opens(found: list[str], ways: Mapping[str, list[list[str]]]) -> bool:
    return bool(found) and any(found[: len(way)] == way for way in ways.get(found[0], ()))


def _named(text: str, known: Container[int]) -> tuple[dict[int, str], str]:
    """The known names in the text by their terms, and the text without them."""
    names: dict[int, str] = {}
    lower = text.islower()

    def drop(match: re.Match[str]) -> str:
        token = match[0]
        bare = token[:-2] if token[-2:-1] in ("'", "\u2019") else token
        name = _plain_name(bare) if lower or bare[:1].isupper() else ""
        number = term(name) if name else 0
        if not number or number not in known:
            return token
        if len(names) < _MOST_NAMES:
            names.setdefault(number, name)
        return ""

    kept = _TOKEN.sub(drop, text)
    return names, " ".join(kept.split())


def _plain_name(word: str) -> str:
    folded = words(word)
    return folded[0] if len(folded) == 1 and folded[0] not in labels() else ""
