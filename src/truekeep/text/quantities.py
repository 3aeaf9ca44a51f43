"""Numbers: in digits and in words, with the scale, currency, percent sign, label or unit around them, or written apart.

Every spelling of one quantity gets the same canonical form. Whoever dictates an account number ("seven seven, dash, one
three", "7777 first and then 13") still gives its digits; numbers that are joined so only give a value away, and never
prove one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import Any

from truekeep.text.language import Language, Units, language
from truekeep.text.tokens import Kind, Salient, ValueToken, compact, shift

_NUMBER = re.compile(r"(-?[\d., ']*\d)(\D*)")
_MOST_DIGITS = 40  # longer than any account or amount
# French counts four twenties; the hyphen inside them is not one between two numbers.
_JOINED = re.compile(r"quatre-vingts?")


class Cursor:
    """Tokens, their folded spelling, the language, and what was found."""

    def __init__(self, text: str, found: list[ValueToken], lower: list[str], tables: Language, units: Units) -> None:
        self.text, self.tokens, self.lower, self.language, self.units = text, found, lower, tables, units
        self.values: list[Salient] = []

    def add(self, kind: Kind, value: str, start: int, end: int, **more: Any) -> None:
        """Keep a value."""
        self.values.append(Salient(kind, value, (start, end), **more))

    def text_at(self, place: int) -> str:
        """The token's text, or nothing beyond the ends."""
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def low_at(self, place: int) -> str:
        """The token in folded case, or nothing beyond the ends."""
        return self.lower[place] if 0 <= place < len(self.lower) else ""

    def span_at(self, place: int) -> str:
        """The span of time named there: a number of days, or the letter of a month or a year."""
        low = self.low_at(place)
        days = self.language.spans.get(low)
        return f"{days}d" if days else self.language.long_spans.get(low, "")

    def unit_at(self, place: int) -> str:
        """The content word at that place, which is what a number before it counts."""
        if place >= len(self.tokens) or self.tokens[place].kind != "word":
            return ""
        low = self.lower[place]
        return "" if low in self.language.roles else low


def split_number(text: str) -> tuple[str, str] | None:
    """The digits of a number and what sticks to them."""
    match = _NUMBER.fullmatch(text)
    return (match[1], match[2]) if match else None


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


_LONGEST_KNOWN = 32  # longer words are rare or made up, and would fill the cache
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


_MOST_NUMBER_WORDS = 24
"""Words in one written-out number; a longer run is read as several, since its value would be astronomical."""


def number(at: Cursor, place: int, digits: str, stuck: str) -> int:
    """A number in digits, together with its scale, currency, percent sign or unit; gives the token after it."""
    token = at.tokens[place]
    if stuck and stuck != "%" and not _sticks(at, stuck):
        at.add(Kind.CODE, compact(token.text), token.start, token.end)
        return place + 1
    return _quantity(at, place, place + 1, digits, stuck)


def _sticks(at: Cursor, stuck: str) -> bool:
    low = stuck.casefold()
    return stuck in at.units.scales or low in at.units.units or low in at.units.currencies


def _quantity(at: Cursor, first: int, after: int, digits: str, stuck: str) -> int:
    if not stuck and (end := _ago(at, first, after, digits)):
        return end
    currency, start, after, scale = _money_around(at, first, after, stuck)
    found = readings(digits, is_money=bool(currency))
    if not found:
        token = at.tokens[first]
        at.add(Kind.CODE, compact(digits), token.start, token.end)
        return first + 1
    values = [canonical(reading * scale) for reading in found]
    end = at.tokens[after - 1].end
    if currency:
        also = tuple(f"{value} {currency}" for value in values[1:])
        at.add(Kind.MONEY, f"{values[0]} {currency}", start, end, also=also)
    elif stuck == "%" or at.low_at(after) in at.units.percent or at.text_at(after) == "%":
        after += stuck != "%"
        at.add(Kind.PERCENT, values[0], start, at.tokens[after - 1].end, also=tuple(values[1:]))
    elif after == first + 1 and not stuck and _is_year(at, first, digits):
        at.add(Kind.DATE, digits, start, end)
    elif after == first + 1 and not stuck and _is_identifier(at, first, digits):
        at.add(Kind.CODE, compact(digits), start, end)
    else:
        unit = stuck.casefold() if stuck and stuck not in at.units.scales else at.unit_at(after)
        at.add(Kind.NUMBER, values[0], start, end, unit=unit, also=tuple(values[1:]))
    return after


def _ago(at: Cursor, first: int, after: int, digits: str) -> int | None:
    """ "Three days ago", "vor drei Jahren"; gives the token after it."""
    unit = at.span_at(after)
    if not unit or not digits.isdigit() or len(digits) > 3:
        return None
    if at.low_at(after + 1) in at.language.ago:
        at.add(Kind.DATE, shift(-int(digits), unit), at.tokens[first].start, at.tokens[after + 1].end)
        return after + 2
    if at.low_at(first - 1) in at.language.ago:
        at.add(Kind.DATE, shift(-int(digits), unit), at.tokens[first].start, at.tokens[after].end)
        return after + 1
    return None


def _is_year(at: Cursor, place: int, digits: str) -> bool:
    """Whether a bare number is a year: "moved in 2024" is no quantity."""
    if not (len(digits) == 4 and digits.isdigit() and "1900" <= digits <= "2099"):
        return False
    before = at.low_at(place - 1)
    role = at.language.roles.get(before, "")
    return before in at.units.year_cues or role in ("place", "since", "until") or before in ("(", "od")


def _money_around(at: Cursor, first: int, after: int, stuck: str) -> tuple[str, int, int, int]:
    """Currency, start, the token after, and the scale of an amount that stands at ``first``."""
    start = at.tokens[first].start
    before = at.units.symbols.get(at.text_at(first - 1)) or _code_before(at, first)
    scale = at.units.scales.get(stuck, 1) if stuck != "%" else 1
    if not stuck:
        value = at.language.numbers.get(at.low_at(after)) or at.units.scales.get(at.text_at(after), 1)
        if value >= 1000:
            scale, after = value, after + 1
            after += at.text_at(after) == "."
    if stuck == "m" and before:
        scale = 1_000_000
    if before:
        return before, at.tokens[first - 1].start, after, scale
    stuck_currency = at.units.currencies.get(stuck.casefold(), "")
    behind = at.units.symbols.get(at.text_at(after)) or at.units.currencies.get(at.low_at(after))
    if behind and not stuck_currency:
        return behind, start, after + 1, scale
    return stuck_currency, start, after, scale


def _code_before(at: Cursor, first: int) -> str:
    text = at.text_at(first - 1)
    return at.units.currencies.get(text.casefold(), "") if len(text) == 3 and text.isupper() else ""


def _is_identifier(at: Cursor, place: int, digits: str) -> bool:
    if not digits.isdigit():
        return False
    if len(digits) > 1 and digits[0] == "0":
        return True
    return len(digits) >= 3 and not at.unit_at(place + 1) and names_an_identifier(at, place)


def names_an_identifier(at: Cursor, place: int) -> bool:
    """Whether the words just before say that a number is a name for something: "account number: 1234"."""
    for back in range(place - 1, max(place - 4, -1), -1):
        low = at.low_at(back)
        if low in at.language.identifiers or low == "#":
            return True
        if low not in (":", ".", "=") and at.language.roles.get(low) != "present":
            return False
    return False


def number_words(at: Cursor, place: int) -> int | None:
    """A row of number words with what stands around it; gives the token after it."""
    values: list[int] = []
    after = place
    while after < len(at.tokens) and at.tokens[after].kind == "word" and len(values) < _MOST_NUMBER_WORDS:
        value = word_value(at.lower[after], at.language.name)
        joins = values and at.lower[after] in at.language.joiners
        if value is None and not joins:
            break
        values += value or ()
        after += 1
    while after > place and at.lower[after - 1] in at.language.joiners:
        after -= 1
    if not values or (after == place + 1 and _is_weak(at, place)):
        return None
    return _quantity(at, place, after, str(combine(values)), "")


def _is_weak(at: Cursor, place: int) -> bool:
    """ "One" is mostly a pronoun or an article; it counts only before something that can be counted."""
    if at.lower[place] not in at.language.weak:
        return False
    return at.low_at(place + 1) not in at.units.currencies and not at.unit_at(place + 1)
