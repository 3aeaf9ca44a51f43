"""Finds sequences of words with bounded gaps in linear time.

A pattern is a list of word groups; it is found when one word of each group occurs in order, each at most
``gap`` words after the one before. One pass over the text keeps, for every group, the latest place where the
sequence up to it is complete, so that no text can make it backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"[.!?:;\n\u3002\uff01\uff1f]")
_NEGATIONS = frozenset({"not", "never", "cannot", "t", "dont", "nicht", "nie", "nunca", "jamais", "nikdy"})
_COMMANDING = frozenset({"and", "then", "please", "must", "should", "now", "always", "also", "just", "will", "you"})


@dataclass(frozen=True, slots=True)
class WordPattern:
    """A sequence of word groups. ``unless`` words inside or just after it, or a negation, excuse it."""

    id: str
    groups: tuple[frozenset[str], ...]
    gap: int = 3
    unless: frozenset[str] = frozenset()
    negatable: bool = False
    imperative: bool = False


class PhraseWords:
    """A casefolded text's words; where they stand is only worked out when a pattern asks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = _WORD.findall(text)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where each word starts and ends."""
        return [match.span() for match in _WORD.finditer(self.text)]

    def between(self, index: int) -> str:
        """What stands between the word at ``index`` and the one before it."""
        return self.text[self.spans[index - 1][1] if index else 0 : self.spans[index][0]]

    def is_negated(self, index: int) -> bool:
        """Whether the word directly before says no. A sentence that ended there says nothing about this one."""
        return index > 0 and self.words[index - 1] in _NEGATIONS and not self.between(index).strip()

    def is_imperative(self, index: int) -> bool:
        """Whether the word opens a sentence, or follows one that makes it an order."""
        if index == 0 or _SENTENCE_END.search(self.between(index)):
            return True
        return self.words[index - 1] in _COMMANDING


class PhraseMatcher:
    """Many word patterns compiled into one index from word to the groups it belongs to."""

    def __init__(self, patterns: Iterable[WordPattern]) -> None:
        self._patterns = tuple(patterns)
        self._places: dict[str, list[tuple[int, int]]] = {}
        for number, pattern in enumerate(self._patterns):
            # Later groups first: a word that is in two groups of a pattern must not follow itself.
            for place in range(len(pattern.groups) - 1, -1, -1):
                for word in pattern.groups[place]:
                    self._places.setdefault(word, []).append((number, place))

    def first(self, text: str) -> WordPattern | None:
        """The first pattern found in a casefolded text, or nothing."""
        words = PhraseWords(text)
        reached: dict[tuple[int, int], tuple[int, int]] = {}
        places = self._places
        for index, word in enumerate(words.words):
            if word not in places:
                continue
            for number, place in places[word]:
                pattern = self._patterns[number]
                before = reached.get((number, place - 1))
                if place and before is None:
                    continue
                start = self._start(words, pattern, place, before, index)
                if start is None:
                    continue
                reached[number, place] = (start, index)
                if place == len(pattern.groups) - 1 and not _is_excused(words.words, pattern, start, index):
                    return pattern
        return None

    @staticmethod
    def _start(
        words: PhraseWords, pattern: WordPattern, place: int, before: tuple[int, int] | None, index: int
    ) -> int | None:
        if place == 0:
            excused = pattern.negatable and words.is_negated(index)
            return None if excused or (pattern.imperative and not words.is_imperative(index)) else index
        if before is None or index - before[1] > pattern.gap:
            return None
        return before[0]


def _is_excused(words: Sequence[str], pattern: WordPattern, start: int, end: int) -> bool:
    return bool(pattern.unless) and not pattern.unless.isdisjoint(words[start : end + 4])
