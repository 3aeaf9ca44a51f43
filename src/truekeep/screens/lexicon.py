"""Finds the words of command, authority and preference of every language in a text, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from truekeep.text.fold import fold
from truekeep.text.language import language_table, languages_with
from truekeep.text.view import View
from truekeep.text.words import WordRow

PARTS = "parts"
"""How entries match in scripts without spaces, or whose marks no word pattern knows: as parts of words."""
_UNSPACED = re.compile(
    r"[\u0600-\u06ff\u0900-\u097f\u0e00-\u0eff\u1200-\u137f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_STATEMENT = re.compile(r"[^\n.!?;\u3002\uff01\uff1f]+")
_STEM_KEY = 3
_DONE = frozenset({"money", "access", "leaving", "tool", "promote", "override"})
"""Verbs that are also known in the third person: what an assistant is said to do is told to it."""
_HISSING = ("s", "x", "ch", "sh")


class PhraseHit(NamedTuple):
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

    def hot(self, words: Iterable[str]) -> set[str]:
        """Those of a text's words with which an entry may begin; all others need no closer look."""
        distinct = set(words)
        stems = self.stems
        begun = {word for word in distinct if word[:_STEM_KEY] in stems}
        return begun.union(*(table.keys() & distinct for table in (self.words, self.phrases, self.open_phrases)))


def plain(text: str) -> str:
    """A lexicon entry in the form in which folded views spell it."""
    return fold(View("raw", text)).text.lower()


def _entries(language: str) -> Iterator[tuple[str, str, str]]:
    table = language_table(language, "commands")
    style = table["match"]
    for category, text in table["lexicon"].items():
        for entry in text.split("|"):
            if entry.strip():
                yield style, category, plain(entry.strip())
                if language == "en" and category in _DONE and entry.strip().isalpha():
                    yield style, "does", f"{entry.strip()}{'es' if entry.strip().endswith(_HISSING) else 's'}"


@cache
def _lexicon() -> _Lexicon:
    lexicon = _Lexicon({}, {}, {}, {}, {})
    for language in languages_with("commands"):
        for style, category, entry in _entries(language):
            if style == PARTS:
                lexicon.parts.setdefault(entry[:2], []).append((entry, language, category))
            else:
                _add_words(lexicon, language, category, entry)
    return lexicon


def _add_words(lexicon: _Lexicon, language: str, category: str, entry: str) -> None:
    stem = entry.endswith("*")
    first, *rest = WordRow(entry.rstrip("*")).words
    item = _Entry(tuple(rest), stem, language, category)
    if stem and not rest:
        lexicon.stems.setdefault(first[:_STEM_KEY], []).append((first, item))
    elif not rest:
        lexicon.words.setdefault(first, []).append(item)
    elif stem and len(rest) == 1:
        lexicon.open_phrases.setdefault(first, []).append(item)
    else:
        lexicon.phrases.setdefault(first, {}).setdefault(rest[0], []).append(item)


def find(text: str, found: WordRow) -> list[PhraseHit]:
    """Every lexicon entry in the text, whatever its language."""
    hits = list(_word_hits(found))
    if _UNSPACED.search(text):
        # Statement by statement: in a long text few are written in such a script.
        for statement in _STATEMENT.finditer(text):
            if _UNSPACED.search(statement[0]):
                hits += _part_hits(statement[0].lower(), statement.start())
    return hits


def _word_hits(found: WordRow) -> Iterator[PhraseHit]:
    lexicon = _lexicon()
    phrases, words = lexicon.phrases, found.words
    hot = lexicon.hot(words)
    alone = {word: _alone(lexicon, word) for word in hot}
    for index in [index for index, word in enumerate(words) if word in hot]:
        text = words[index]
        for entry in alone[text]:
            yield PhraseHit(entry.language, entry.category, index, index + 1, found.start(index), found.end(index))
        if text in phrases and index + 1 < len(words):
            for entry in phrases[text].get(words[index + 1], ()):
                if _follows(words, index + 1, entry):
                    yield _phrase(found, index, entry)
        for entry in lexicon.open_phrases.get(text, ()):
            if _follows(words, index + 1, entry):
                yield _phrase(found, index, entry)


def _alone(lexicon: _Lexicon, word: str) -> list[_Entry]:
    """The entries that one word makes up by itself."""
    stems = lexicon.stems.get(word[:_STEM_KEY], ())
    return [*lexicon.words.get(word, ()), *(entry for stem, entry in stems if word.startswith(stem))]


def _phrase(found: WordRow, index: int, entry: _Entry) -> PhraseHit:
    after = index + 1 + len(entry.rest)
    return PhraseHit(entry.language, entry.category, index, after, found.start(index), found.end(after - 1))


def _follows(found: list[str], index: int, entry: _Entry) -> bool:
    words = tuple(found[index : index + len(entry.rest)])
    if len(words) < len(entry.rest):
        return False
    if entry.stem:
        return words[:-1] == entry.rest[:-1] and words[-1].startswith(entry.rest[-1])
    return words == entry.rest


def _part_hits(text: str, offset: int) -> Iterator[PhraseHit]:
    parts = _lexicon().parts
    present = parts.keys() & {*map(str.__add__, text, text[1:]), *text}
    for key in present:
        for entry, language, category in parts[key]:
            place = text.find(entry)
            while place >= 0:
                if not _cuts_a_word(text, place, place + len(entry)):
                    yield PhraseHit(language, category, -1, -1, place + offset, place + offset + len(entry))
                place = text.find(entry, place + 1)


def _cuts_a_word(text: str, start: int, end: int) -> bool:
    """Whether a Latin entry is a piece of a Latin word: Chinese names the "AI" without spaces, "mail" does not."""
    return any(
        outside.isascii() and inside.isascii() and outside.isalnum() and inside.isalnum()
        for outside, inside in ((text[max(0, start - 1) : start], text[start]), (text[end : end + 1], text[end - 1]))
    )
