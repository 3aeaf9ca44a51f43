"""Read text that was shifted (rot13 and the other Caesar ciphers) or written backwards."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from string import ascii_lowercase, ascii_uppercase

from truekeep.text.lexicon import words
from truekeep.text.view import View, rewrite, whole

_RUN = re.compile(r"[^\W\d_]+")
_NEEDED = 2


@cache
def _alphabet(by: int) -> dict[int, int]:
    return str.maketrans(
        ascii_lowercase + ascii_uppercase,
        ascii_lowercase[by:] + ascii_lowercase[:by] + ascii_uppercase[by:] + ascii_uppercase[:by],
    )


def _shifted(text: str, by: int) -> str:
    return text.translate(_alphabet(by))


@cache
def _clues() -> dict[str, tuple[int, ...]]:
    """Ciphered form of a known word -> how to undo it (1-25 shifts, 0 backwards); real words are no clue."""
    known = words().known
    clues: dict[str, tuple[int, ...]] = {}
    for word in known:
        if len(word) < 3 or not word.isascii():
            continue
        for how in range(26):
            hidden = _shifted(word, 26 - how) if how else word[::-1]
            if hidden not in known:
                clues[hidden] = (*clues.get(hidden, ()), how)
    return clues


@cache
def clue_words() -> frozenset[str]:
    """Every ciphered form; a text without any of them was not ciphered."""
    return frozenset(_clues())


def deciphered(base: View) -> list[View]:
    """The readings in which at least two known words appear that the text as it stands does not have."""
    text = base.text
    lower = text.lower()
    tally: Counter[int] = Counter()
    for word in set(_RUN.findall(lower)):
        tally.update(_clues().get(word, ()))
    views: list[View] = []
    for how, count in tally.most_common(2):
        if count >= _NEEDED:
            views += _readings(base, how)
    return views


def _readings(base: View, how: int) -> list[View]:
    if how:
        # One letter for one: positions stay, so no edit needs to be remembered.
        return [View("rot13" if how == 13 else "shifted", _shifted(base.text, how), base)]
    mirrored = [(m.start(), m.end(), m[0][::-1]) for m in _RUN.finditer(base.text)]
    return [whole(base, "reversed", base.text[::-1]), rewrite(base, "mirrored", mirrored)]
