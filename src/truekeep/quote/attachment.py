"""Find what a value in the owner's words is said of: the piece of the sentence that it stands in decides.

"My locker is 7777-13, and Northwind's account has changed" names Northwind, an account and a number, and says nothing
about Northwind's account. A value belongs to the attribute in its own piece of the sentence, and to a subject named
there, or named before it in the sentence if its piece has no subject of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from truekeep.text import folded
from truekeep.text.clause import SELF, clauses
from truekeep.text.language import function_words, read_table
from truekeep.text.lexemes import lexeme
from truekeep.text.salient import Kind, Salient, scan

_WORD = re.compile(r"[^\W_]+")
_JOINT = r"[,;:()]\s*(?!\d)|\s[-\u2013\u2014]\s|\b(?:{words})\b"
_PREFIX = 5


@dataclass(frozen=True, slots=True)
class Piece:
    """The words around a value, up to the next comma or joining word, and those before them in the sentence."""

    words: frozenset[str]
    before: frozenset[str]
    head: str
    """The attribute that the value answers, where the piece is built like that."""
    has_own_subject: Callable[[Iterable[str]], bool]

    def names(self, subject: Iterable[str]) -> bool:
        """Whether what it says is said of that subject."""
        wanted = list(subject)
        if _all_in(wanted, self.words):
            return True
        return _all_in(wanted, self.words | self.before) and not self.has_own_subject(wanted)

    def gives(self, attribute: Iterable[str]) -> bool:
        """Whether it speaks of that attribute; in "Northwind's account ticket is …" that is the ticket."""
        wanted = list(attribute)
        if self.head and any(_is_in(word, self.words) for word in wanted):
            return any(_is_in(word, frozenset({self.head})) for word in wanted)
        return any(_is_in(word, self.words) for word in wanted)


def pieces_with(sentence: str, holds: Callable[[Salient], bool]) -> list[Piece]:
    """The pieces of a sentence in which such a value stands."""
    parts, values = _read(sentence)
    places = [place for place, found in enumerate(values) if any(map(holds, found))]
    if not places:
        # A value that runs over a joint, as "May 14, 2026" does.
        return [_piece((sentence,), 0)] if any(map(holds, scan(sentence).values)) else []
    return [_piece(parts, place) for place in places]


@lru_cache(maxsize=64)
def _read(sentence: str) -> tuple[tuple[str, ...], tuple[tuple[Salient, ...], ...]]:
    """The parts of a sentence and the values in each; many proofs ask about one sentence."""
    joint = _joint(scan(sentence).language.name)
    parts = _merged([part for part in joint.split(sentence) if part and part.strip()])
    return tuple(parts), tuple(tuple(scan(part).values) for part in parts)


@cache
def _joint(language: str) -> re.Pattern[str]:
    table = read_table("quote", "joining.toml")
    words = (*table["anywhere"], *table.get(language, ()))
    return re.compile(_JOINT.format(words="|".join(words)), re.IGNORECASE)


def _merged(parts: list[str]) -> list[str]:
    """A part without words of its own belongs to the one before: "Northwind's account: 7777-13"."""
    merged: list[str] = []
    for part in parts:
        if merged and not _telling(part):
            merged[-1] = f"{merged[-1]} {part}"
        else:
            merged.append(part)
    return merged


def _telling(part: str) -> bool:
    words = _WORD.findall(folded(part))
    return any(not any(char.isdigit() for char in word) and word not in function_words() for word in words)


def _piece(parts: tuple[str, ...], place: int) -> Piece:
    def has_own_subject(besides: Iterable[str]) -> bool:
        known = frozenset(besides)
        named = [value for value in scan(parts[place]).values if value.kind is Kind.NAME and value.sure]
        own = any(SELF in clause.words or SELF in clause.about for clause in clauses(parts[place]))
        return own or any(not _all_in(value.value.split(), known) for value in named)

    return Piece(_words(parts[place]), _words(" ".join(parts[:place])), _head(parts[place]), has_own_subject)


def _head(part: str) -> str:
    """The last noun before the verb; a name there is whose attribute it is, and not the attribute."""
    names = {word for value in scan(part).values if value.kind is Kind.NAME for word in value.value.split()}
    for clause in clauses(part):
        if clause.is_attribute and clause.attribute and clause.attribute[-1] not in names:
            return clause.attribute[-1]
    return ""


@lru_cache(maxsize=64)
def _words(text: str) -> frozenset[str]:
    found = _WORD.findall(folded(text))
    return frozenset((*found, *map(lexeme, found)))


def _all_in(words: Iterable[str], spoken: frozenset[str]) -> bool:
    return all(_is_in(word, spoken) for word in words)


def _is_in(word: str, spoken: frozenset[str]) -> bool:
    return word in spoken or lexeme(word) in spoken or any(one[:_PREFIX] == word[:_PREFIX] for one in spoken)
