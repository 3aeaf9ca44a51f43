"""Numbers that stand in pieces: groups of digits with words between them, and digits that are spelled out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from truekeep.text.language import entries, language, names
from truekeep.text.quantities import combine, word_value
from truekeep.text.salient import ValueScan

_MOST_BETWEEN = 3
"""So many words may stand between two groups of one number."""
_SHORTEST, _LONGEST = 5, 40
_SHORTEST_GLUED = 8
_MOST_GROUPS = 3  # day, month and year, or the parts of a number people leave spaces in
_Group = tuple[int, str]
"""Where a group of digits ends, and the digits."""


def numbers_apart(scanned: ValueScan) -> list[str]:
    """Every number that its groups could make up; neighbours only, so that a text has few of them."""
    joined: dict[str, None] = {}
    for row in _rows(list(_dictated(scanned))):
        for start in range(len(row)):
            for end in range(start + 1, min(start + _MOST_GROUPS, len(row)) + 1):
                digits = "".join(row[start:end])
                if _SHORTEST <= len(digits) <= _LONGEST:
                    joined[digits] = None
    return list(joined)


def _rows(groups: list[tuple[int, int, str]]) -> Iterator[list[str]]:
    """Groups that stand close enough to be parts of one number."""
    row: list[str] = []
    for before, group in pairwise([(-99, -99, ""), *groups]):
        if group[0] - before[1] - 1 > _MOST_BETWEEN and row:
            yield row
            row = []
        row.append(group[2])
    if row:
        yield row


def _dictated(scanned: ValueScan) -> Iterator[tuple[int, int, str]]:
    """The groups of digits with the places of their first and last word; single digits in a row are one group."""
    row: list[tuple[int, str]] = []
    for place, digits in _groups(scanned):
        if row and (len(digits) > 1 or place - row[-1][0] > 2):
            yield row[0][0], row[-1][0], "".join(one for _, one in row)
            row = []
        if len(digits) > 1:
            yield place, place, digits
        else:
            row.append((place, digits))
    if row:
        yield row[0][0], row[-1][0], "".join(one for _, one in row)


def _groups(scanned: ValueScan) -> Iterator[_Group]:
    """Digits and number words, with their places counted in words; marks between them do not count."""
    place, times = 0, 1
    for token, lower in zip(scanned.tokens, scanned.lower, strict=True):
        if token.kind == "mark":
            continue
        place += 1
        digits = _digits(lower, scanned.language.name)
        if digits:
            yield place, digits * (times if len(digits) == 1 else 1)
        times = _repeats().get(lower, 1)


def _digits(word: str, spoken: str) -> str:
    if word.isdigit():
        return word if word.isascii() else ""
    if word[:1].isdigit() or (len(word) > 1 and word[1].isdigit()):
        return "".join(char for char in word if char.isdigit() and char.isascii())
    values = word_value(word, spoken) or _in_any_language(word)
    if not values:
        return ""
    return "".join(map(str, values)) if all(value < 10 for value in values) else str(combine(values))


def _in_any_language(word: str) -> tuple[int, ...]:
    """A number word in a sentence of another language."""
    if word in _all_numbers():
        return (_all_numbers()[word],)
    if len(word) < _SHORTEST_GLUED:
        return ()
    return next((found for name in _glued() if (found := word_value(word, name))), ())


@cache
def _repeats() -> dict[str, int]:
    """Words that repeat the digit after them."""
    return {word: times for table in entries("numbers", "repeats") for word, times in table.items()}


@cache
def _all_numbers() -> dict[str, int]:
    """The number words of all languages, and words that stand for digits only when a number is dictated."""
    dictated = {word: digit for table in entries("numbers", "dictated") for word, digit in table.items()}
    return dictated | {word: value for name in names() for word, value in language(name).numbers.items()}


@cache
def _glued() -> tuple[str, ...]:
    return tuple(name for name in names() if language(name).glued)
