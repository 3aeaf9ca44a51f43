"""Is a memory worded as the owner worded it: no word of its own, none turned round, none that turns the meaning.

A quote can be true and the words around it a lie: "I trust Eva with the keys" does not say that visitors are trusted
with them, and "checked before they go out" is not "out before they are checked".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from truekeep.text import folded
from truekeep.text.lexemes import lexeme
from truekeep.text.salient import Kind, scan

_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[.,;:!?]+\s|\b(?:and|but|then|while|und|aber|et|mais|y|pero|ale|oraz)\b")
_OF = re.compile(r"([^\W_]+) of (?:the |a |an )?([^\W_]+)")
_PREFIX = 5
_WORDED = frozenset({Kind.NAME, Kind.BOOLEAN, Kind.QUOTED})
NOT = "not"
"""Every negation, in whatever words; where it stands counts like any word's place."""


def plain_words(text: str) -> list[str]:
    """The words of a text without those of its values, which are compared as values; "account of Tom" is "Tom's"."""
    return [word for part in plain_parts(text) for word in part]


def plain_parts(text: str) -> list[list[str]]:
    """The same for each part of a text that could stand alone."""
    shown = _OF.sub(r"\2 \1", folded(_without_values(text)))
    starts = [0, *(match.start() for match in _PART.finditer(shown)), len(shown)]
    return [_WORD.findall(shown[start:end]) for start, end in pairwise(starts)]


def _without_values(text: str) -> str:
    scanned = scan(text)
    shown, done = [], 0
    for value in sorted(scanned.values, key=lambda value: value.span):
        if value.kind not in _WORDED and value.span[0] >= done:
            shown += [scanned.view.text[done : value.span[0]], f" {NOT} " if value.kind is Kind.NEGATION else " "]
            done = value.span[1]
    return "".join([*shown, scanned.view.text[done:]])


def is_same_word(one: str, other: str) -> bool:
    """Whether two words are one in another form. A denial is compared by what it denies."""
    if one == other or lexeme(one) == lexeme(other):
        return True
    if len(one) > _PREFIX and other.startswith(one[:_PREFIX]):
        return True
    return one.startswith("dis") and lexeme(one[3:]) == lexeme(other)


def is_rearranged(words: Sequence[str], sentence: Sequence[str], joining: Collection[str]) -> bool:
    """Whether words of the sentence come in another order, or from two clauses of it as if they were one.

    "I work with Eva and I pay Northwind" does not say that Eva pays Northwind.
    """
    last, joined = -1, 0
    for word in words:
        if word in joining:
            joined += 1
            continue
        places = [at for at, own in enumerate(sentence) if is_same_word(word, own)]
        if not places:
            continue
        after = [at for at in places if at > last]
        if not after:
            return True
        if last >= 0 and sum(own in joining for own in sentence[last + 1 : after[0]]) != joined:
            return True
        last, joined = after[0], 0
    return False
