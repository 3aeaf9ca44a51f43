"""Terms, which are indexed and searched for: words folded, stemmed in the language of their text, hashed to 32 bits.

And *essentials*: what in a text a prompt must not miss, told by a few phrases of each language. Nothing is decided by
them. They put standing wishes first in a snapshot, and propose to the owner what to pin.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import Stemmer

from truekeep.text.language import entries, language, language_table, languages_with, names
from truekeep.text.words import words

_CONTRACTIONS = {"m": "am", "re": "are", "ve": "have", "ll": "will"}
_LONGEST_STEMMED = 40
"""Longer runs of letters are no words of any language; they are indexed as they are."""
_ENGLISH, _PORTER = "en", "porter"
_PIECE = 4
_UNSPACED_FROM = "\u3040"
"""From here on scripts are written without spaces; ``words`` gives pairs of their signs."""
ESSENTIALS, WISH = "essentials", "wish"
KINDS = ("allergy", "address", "name", "language", WISH)
"""What there is not to be missed; where a text says several, the first of these."""
STANDING_WISHES = frozenset({WISH, "address", "language"})
"""Those that ask for something to be done from now on."""
_SHORTEST = 4
"""Letters that the beginning of a word has at least."""
Phrases = dict[str, tuple[tuple[int, tuple[str, ...]], ...]]
"""By its first word the kinds of a phrase, as their places in ``KINDS``, and the words that follow."""


@dataclass(frozen=True, slots=True)
class SearchWords:
    """The words of one language that the search treats specially, folded."""

    stop: frozenset[str]
    """Too common to tell one memory from another; neither indexed nor searched for."""
    negation: frozenset[str]
    """Indexed, because they make two wordings different, but not searched for."""
    time: frozenset[str]
    number: frozenset[str]


@cache
def search_words(name: str) -> SearchWords:
    """Those of one language."""
    table = language_table(name, "words").get("search") or language_table(name, "search")
    tables = language(name)
    days = " ".join((*tables.months, *tables.weekdays, *tables.days, *tables.spans, *tables.long_spans))
    negations = " ".join(word for word, role in tables.roles.items() if role == "negations")
    numbers = " ".join(word for word in tables.numbers if word not in tables.weak)
    return SearchWords(
        stop=frozenset(words(table.get("stop", ""))),
        negation=frozenset(words(table.get("negation", negations))),
        time=frozenset(words(table.get("time", days))),
        number=frozenset(words(table.get("number", numbers))),
    )


@cache
def labels() -> frozenset[str]:
    """Words before a colon that are nobody's name."""
    return frozenset(word for table in entries("words", "search") for word in words(table.get("label", "")))


@cache
def _fillers() -> frozenset[str]:
    return frozenset(word for table in entries("words", "search") for word in words(table.get("filler", "")))


@cache
def openings(kind: str) -> dict[str, list[list[str]]]:
    """How questions of any language open that ask for a day (``when``) or a number (``how_many``), by first word."""
    found: dict[str, list[list[str]]] = {}
    for table in entries("words", "search"):
        for phrase in map(words, table.get(kind, ())):
            found.setdefault(phrase[0], []).append(phrase)
    return found


class _Stemmers(threading.local):
    """Snowball's stemmers, some for each thread, as one of them serves one caller at a time."""

    def __init__(self) -> None:
        self._made: dict[str, Stemmer.Stemmer] = {}

    def of(self, algorithm: str) -> Stemmer.Stemmer:
        """The stemmer of that name."""
        if algorithm not in self._made:
            # Its own cache only costs here: stems are kept with the words they were asked for.
            self._made[algorithm] = Stemmer.Stemmer(algorithm, 0)
        return self._made[algorithm]


_stemmers = _Stemmers()


@lru_cache(maxsize=50_000)
def stem(word: str, name: str = _ENGLISH) -> str:
    """The stem of a folded word in a language, or as English where that has no stemmer; codes are their own stem."""
    own = language(name).stemmer
    if not 2 < len(word) <= _LONGEST_STEMMED or not word.isalpha() or not (word.isascii() or own):
        return word
    return str(_stemmers.of(own or _PORTER).stemWord(word))


@lru_cache(maxsize=50_000)
def term(word: str, name: str = _ENGLISH) -> int:
    """The term of a folded word of a language, or 0 for a stop word."""
    return 0 if word in search_words(name).stop else _hashed(stem(word, name))


@lru_cache(maxsize=50_000)
def other_terms(word: str, name: str) -> tuple[int, ...]:
    """The terms that the word has in texts of other languages, where they differ: names are the same in all of them."""
    if not 2 < len(word) <= _LONGEST_STEMMED or not word.isalpha():
        return ()
    stems = {str(_stemmers.of(algorithm).stemWord(word)) for algorithm in _algorithms()} - {stem(word, name)}
    return tuple(sorted(map(_hashed, stems)))


@cache
def _algorithms() -> tuple[str, ...]:
    """The stemmers of all languages."""
    return tuple(sorted({language(name).stemmer for name in names()} - {""}))


def _hashed(stemmed: str) -> int:
    return zlib.crc32(stemmed.encode("utf-8", "replace")) or 1


@lru_cache(maxsize=50_000)
def pieces(word: str, name: str = _ENGLISH) -> tuple[int, ...]:
    """The terms of a word's parts, for languages that inflect and compound, or are written without spaces.

    Runs of four letters match "Rechnungsadresse" with "Adresse" and one case of a Slovak noun with another.
    """
    if word in search_words(name).stop:
        return ()
    if word[0] >= _UNSPACED_FROM:
        parts = {word, *word}
    else:
        parts = {word[start : start + _PIECE] for start in range(max(1, len(word) - _PIECE + 1))}
    return tuple(_hashed(f"#{part}") for part in sorted(parts))


def is_read_in_pieces(found: list[str], name: str) -> bool:
    """Whether a text's words are matched by their parts: those of every language but English."""
    return name != _ENGLISH or is_unspaced(found)


def is_unspaced(found: list[str]) -> bool:
    """Whether there are words of a script that is written without spaces."""
    return any(word[0] >= _UNSPACED_FROM for word in found)


def terms(text: str, name: str = _ENGLISH) -> list[int]:
    """The terms of a text in order, stop words left out."""
    return [number for word in words(text) if (number := term(word, name))]


def wording(found: list[str]) -> int:
    """A 64-bit fingerprint of what words say; equal for two texts that differ in nothing but form and fillers.

    Prepositions, pronouns and order count: "from her to him" and "from him to her" are not the same claim. It does not
    depend on which language the words are taken for.
    """
    filler = _fillers()
    kept = [stem(_CONTRACTIONS.get(word, word)) for word in found if word not in filler]
    digest = hashlib.blake2b(" ".join(kept).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def essential_in(found: Sequence[str]) -> str:
    """Which of the essentials the words of a text seem to say; nothing for most texts."""
    (stems, phrases), best = _essentials(), len(KINDS)
    for place, word in enumerate(found):
        for kind, (beginning,) in stems.get(word[:_SHORTEST], ()):
            if kind < best and word.startswith(beginning):
                best = kind
        for kind, rest in phrases.get(word, ()):
            if kind < best and tuple(found[place + 1 : place + 1 + len(rest)]) == rest:
                best = kind
    return KINDS[best] if best < len(KINDS) else ""


@cache
def _essentials() -> tuple[Phrases, Phrases]:
    """Of all languages: how words begin, by their first letters, and phrases, by their first word."""
    stems: Phrases = {}
    phrases: Phrases = {}
    for name in languages_with(ESSENTIALS):
        for kind, listed in language_table(name, ESSENTIALS).items():
            for phrase in listed.split(" | "):
                first, *rest = words(phrase)
                table, key, then = phrases, first, tuple(rest)
                if phrase.endswith("*"):
                    table, key, then = stems, first[:_SHORTEST], (first,)
                table[key] = (*table.get(key, ()), (KINDS.index(kind), then))
    return stems, phrases
