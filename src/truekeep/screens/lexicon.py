"""Finds the words of command, authority and preference of sixteen languages in a text, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from truekeep.text.fold import fold
from truekeep.text.lexicon import load
from truekeep.text.view import View

LANGUAGES = ("en", "sk", "cs", "de", "fr", "es", "it", "pt", "pl", "ru", "uk", "tr", "zh", "ja", "ko", "ar")
_TOKEN = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*|[.!?;:,\n()\[\]<>\"|{}\u2013\u2014-]")
_UNSPACED = re.compile(r"[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STEM_KEY = 3


class Token(NamedTuple):
    """A word or a mark of punctuation, lower case, with its place in the view."""

    text: str
    start: int
    end: int


class Hit(NamedTuple):
    """An entry of a language's lexicon, found at ``start``; ``at`` and ``after`` bound its tokens, -1 without any."""

    language: str
    category: str
    at: int
    after: int
    start: int
    end: int


class _Entry(NamedTuple):
    rest: tuple[str, ...]
    stem: bool
    language: str
    category: str


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """Entries by their first word, phrases also by their second; parts of words by their first two letters."""

    words: dict[str, list[_Entry]]
    phrases: dict[str, dict[str, list[_Entry]]]
    open_phrases: dict[str, list[_Entry]]
    stems: dict[str, list[tuple[str, _Entry]]]
    parts: dict[str, list[tuple[str, str, str]]]


def tokens(text: str) -> list[Token]:
    """The words and marks of a text, lower case."""
    return [Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(text.lower())]


def plain(text: str) -> str:
    """A lexicon entry in the form in which folded views spell it."""
    return fold(View("raw", text)).text.lower()


def _entries(language: str) -> Iterator[tuple[str, str, str]]:
    table = load(f"grammar/{language}.yaml")
    style = table.pop("match")
    for category, text in table.items():
        for entry in text.split("|"):
            if entry.strip():
                yield style, category, plain(entry.strip())


@cache
def _lexicon() -> _Lexicon:
    lexicon = _Lexicon({}, {}, {}, {}, {})
    for language in LANGUAGES:
        for style, category, entry in _entries(language):
            if style == "parts":
                lexicon.parts.setdefault(entry[:2], []).append((entry, language, category))
            else:
                _add_words(lexicon, language, category, entry)
    return lexicon


def _add_words(lexicon: _Lexicon, language: str, category: str, entry: str) -> None:
    stem = entry.endswith("*")
    first, *rest = (token.text for token in tokens(entry.rstrip("*")))
    item = _Entry(tuple(rest), stem, language, category)
    if stem and not rest:
        lexicon.stems.setdefault(first[:_STEM_KEY], []).append((first, item))
    elif not rest:
        lexicon.words.setdefault(first, []).append(item)
    elif stem and len(rest) == 1:
        lexicon.open_phrases.setdefault(first, []).append(item)
    else:
        lexicon.phrases.setdefault(first, {}).setdefault(rest[0], []).append(item)


def find(text: str, found: list[Token]) -> list[Hit]:
    """Every lexicon entry in the text, whatever its language."""
    hits = list(_word_hits(found))
    if _UNSPACED.search(text):
        hits += _part_hits(text.lower())
    return hits


def _word_hits(found: list[Token]) -> Iterator[Hit]:
    lexicon = _lexicon()
    words, phrases, stems = lexicon.words, lexicon.phrases, lexicon.stems
    for index, token in enumerate(found):
        text = token.text
        for entry in words.get(text, ()):
            yield Hit(entry.language, entry.category, index, index + 1, token.start, token.end)
        for stem, entry in stems.get(text[:_STEM_KEY], ()):
            if text.startswith(stem):
                yield Hit(entry.language, entry.category, index, index + 1, token.start, token.end)
        if text in phrases and index + 1 < len(found):
            for entry in phrases[text].get(found[index + 1].text, ()):
                if _follows(found, index + 1, entry):
                    yield _phrase(found, index, entry)
        for entry in lexicon.open_phrases.get(text, ()):
            if _follows(found, index + 1, entry):
                yield _phrase(found, index, entry)


def _phrase(found: list[Token], index: int, entry: _Entry) -> Hit:
    after = index + 1 + len(entry.rest)
    return Hit(entry.language, entry.category, index, after, found[index].start, found[after - 1].end)


def _follows(found: list[Token], index: int, entry: _Entry) -> bool:
    words = tuple(token.text for token in found[index : index + len(entry.rest)])
    if len(words) < len(entry.rest):
        return False
    if entry.stem:
        return words[:-1] == entry.rest[:-1] and words[-1].startswith(entry.rest[-1])
    return words == entry.rest


def _part_hits(text: str) -> Iterator[Hit]:
    parts = _lexicon().parts
    for place in range(len(text)):
        for key in (text[place : place + 2], text[place]):
            for entry, language, category in parts.get(key, ()):
                if text.startswith(entry, place):
                    yield Hit(language, category, -1, -1, place, place + len(entry))


def languages_on_disk() -> set[str]:
    """The languages that have a lexicon file."""
    folder = files("truekeep").joinpath("data", "screens", "grammar")
    return {item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml")}
