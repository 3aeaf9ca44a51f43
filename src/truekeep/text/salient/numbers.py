"""Read numbers in digits and in words, and give every spelling of one quantity the same canonical form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache

from truekeep.text.language import Language, language

_MOST_DIGITS = 40
# French counts four twenties; the hyphen inside them is not one between two numbers.
_JOINED = re.compile(r"quatre-vingts?")


def canonical(value: Decimal) -> str:
    """A number without exponent, sign of zero or trailing zeros."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def readings(digits: str, *, is_money: bool = False) -> tuple[Decimal, ...]:
    """What a number in digits can mean, the likeliest first; empty when it cannot be read.

    A single separator before exactly three digits is ambiguous: "1,500" is read as thousands, "1.500" as a
    fraction unless it is an amount of money. The other reading is kept for recognising, not for proving.
    """
    if len(digits) > _MOST_DIGITS:
        return ()
    text = digits.replace(" ", "").replace("'", "")
    comma, dot = text.count(","), text.count(".")
    if comma and dot:
        decimal_mark = "," if text.rfind(",") > text.rfind(".") else "."
        group = "." if decimal_mark == "," else ","
        return _decimals(text.replace(group, "").replace(decimal_mark, "."))
    if comma + dot != 1:
        return _decimals(text.replace(",", "").replace(".", ""))
    mark = "," if comma else "."
    whole, _, rest = text.partition(mark)
    fraction = f"{whole}.{rest}"
    if len(rest) != 3 or len(whole.lstrip("-")) > 3 or whole.lstrip("-") in ("0", ""):
        return _decimals(fraction)
    thousands_first = mark == "," or is_money
    return _decimals(whole + rest, fraction) if thousands_first else _decimals(fraction, whole + rest)


def _decimals(*texts: str) -> tuple[Decimal, ...]:
    try:
        return tuple(Decimal(text) for text in texts)
    except InvalidOperation:
        return ()


def word_value(word: str, name: str) -> tuple[int, ...] | None:
    """The number words inside one written word: ("fünf", "und", "zwanzig") as 5, 20; None if it is none."""
    return (_known_value if len(word) <= _LONGEST_KNOWN else _word_value)(word, name)


def _word_value(word: str, name: str) -> tuple[int, ...] | None:
    tables = language(name)
    word = _JOINED.sub("quatrevingt", word)
    if word in tables.numbers:
        return (tables.numbers[word],)
    parts = word.split("-")
    if len(parts) > 1:
        values = [word_value(part, name) for part in parts if part not in tables.joiners]
        return None if None in values or not values else tuple(v for value in values if value for v in value)
    return _unglued(word, tables) if tables.glued else None


_LONGEST_KNOWN = 32
_known_value = lru_cache(maxsize=16_384)(_word_value)


def _unglued(word: str, tables: Language) -> tuple[int, ...] | None:
    found: list[int] = []
    rest = word
    while rest:
        piece = next((p for p in _pieces(tables.name) if rest.startswith(p)), None)
        if piece is None:
            return None
        if piece in tables.numbers:
            found.append(tables.numbers[piece])
        rest = rest[len(piece) :]
    return tuple(found) if found else None


@cache
def _pieces(name: str) -> tuple[str, ...]:
    tables = language(name)
    return tuple(sorted({*tables.numbers, *tables.joiners}, key=len, reverse=True))


def combine(values: Sequence[int]) -> int:
    """The quantity that a row of number words spells: 3, 100, 20, 5 is 325."""
    total = current = 0
    for value in values:
        if value >= 1000:
            total += max(current, 1) * value
            current = 0
        elif value == 100:
            current = max(current, 1) * value
        elif value == 12 and current:
            current *= value
        else:
            current += value
    return total + current
