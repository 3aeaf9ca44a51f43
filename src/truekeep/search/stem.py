"""Porter's suffix stripping (1980): brings the inflections of an English word together.

The published algorithm in its five steps; each step is a table of suffix, replacement and
the least *measure* (number of vowel-consonant sequences) that the stem before it must have.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
)  # fmt: skip
_LONGEST = 40
"""Longer runs of letters are no English words; they are indexed as they are."""


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of a lower-case word; words that are short or not plain ASCII letters are their own stem."""
    if not 2 < len(word) <= _LONGEST or not (word.isascii() and word.isalpha()):
        return word
    return _tidy(_strip_4(_replace(_replace(_y_to_i(_past(_plural(word))), _STEP_2), _STEP_3)))


def _plural(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        base = word[: -len(suffix)]
        if word.endswith(suffix):
            return _mend(base) if _has_vowel(base) else word
    return word


def _mend(base: str) -> str:
    """Give back the letter that "-ed" or "-ing" took, or take back the one that it doubled."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if len(base) > 1 and base[-1] == base[-2] and not _is_vowel(base, len(base) - 1) and base[-1] not in "lsz":
        return base[:-1]
    if _measure(base) == 1 and _ends_short(base):
        return base + "e"
    return base


def _y_to_i(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _replace(word: str, table: tuple[tuple[str, str], ...]) -> str:
    for suffix, replacement in table:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if _measure(base) > 0 else word
    return word


def _strip_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            fits = _measure(base) > 1 and (suffix != "ion" or base.endswith(("s", "t")))
            return base if fits else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _ends_short(base)):
            word = base
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _is_vowel(word: str, place: int) -> bool:
    letter = word[place]
    return letter in "aeiou" or (letter == "y" and place > 0 and not _is_vowel(word, place - 1))


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, place) for place in range(len(word)))


def _measure(word: str) -> int:
    """How many times a vowel is followed by a consonant."""
    shape = [_is_vowel(word, place) for place in range(len(word))]
    return sum(before and not after for before, after in pairwise(shape))


def _ends_short(word: str) -> bool:
    """Whether the word ends consonant, vowel, consonant, the last not w, x or y."""
    end = len(word) - 1
    return (
        end >= 2
        and not _is_vowel(word, end)
        and _is_vowel(word, end - 1)
        and not _is_vowel(word, end - 2)
        and word[end] not in "wxy"
    )
