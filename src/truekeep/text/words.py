"""The words of a text in the forms in which they are looked for.

Readings look for runs of letters, screens for words and the marks between them, the search for folded words. (Values
are read from typed tokens, which are in ``tokens``.)
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import accumulate

_RUN = re.compile(r"[^\W\d_]+")
_ASCII_RUN = re.compile(r"[a-z]+")
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"([^\W_]+(?:['\-][^\W_]+)*|[.!?;:,\n()\[\]<>\"|{}\u2013\u2014-])")
_ASCII_PART = re.compile(r"([a-z0-9]+(?:['\-][a-z0-9]+)*|[.!?;:,\n()\[\]<>\"|{}-])")
_NEGATED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
MAX_WORD = 64
"""Longer runs are cut: they are keys or noise, and their head tells them apart."""


@lru_cache(maxsize=4)
def letter_runs(text: str) -> tuple[str, ...]:
    """Every run of letters in order, lower case; the last few texts are kept, as several readings ask for the same."""
    lower = text.lower()
    # A plain class is looked up in a table; the general one asks the character database.
    return tuple((_ASCII_RUN if lower.isascii() else _RUN).findall(lower))


class WordRow:
    """The words and marks of a text, lower case, and where they stand in it."""

    __slots__ = ("_places", "words")

    def __init__(self, text: str) -> None:
        # What is split off stands between what splits it; lengths add up to places without a match object each.
        lower = text.lower()
        parts = (_ASCII_PART if lower.isascii() else _PART).split(lower)
        self.words: list[str] = parts[1::2]
        self._places = list(accumulate(map(len, parts)))

    def start(self, index: int) -> int:
        """Where that word begins."""
        return self._places[2 * index]

    def end(self, index: int) -> int:
        """Where that word ends."""
        return self._places[2 * index + 1]


def words(text: str) -> list[str]:
    """The words of a text in order, folded: case, width, accents and apostrophes do not matter."""
    expanded = _NEGATED.sub(" not", text)
    if not expanded.isascii():
        expanded = _without_marks(expanded)
        expanded = _UNSPACED.sub(lambda run: " " + _pairs(run[0]) + " ", expanded)
    return [word[:MAX_WORD] for word in _WORD.findall(expanded.casefold())]


def _without_marks(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    # One character may stand for eighteen; no honest text doubles, and what is beyond that is not worth indexing.
    bare = "".join(letter for letter in decomposed[: 3 * len(text) + 64] if not unicodedata.combining(letter))
    # Hangul comes apart under NFKD and has to be put together again.
    return unicodedata.normalize("NFKC", bare)


def _pairs(run: str) -> str:
    """Scripts without spaces are indexed by overlapping pairs of letters."""
    return " ".join(run[place : place + 2] for place in range(max(1, len(run) - 1)))
