"""Read quantities: digits or words, with the scale, currency, percent sign, label or unit around them."""

from __future__ import annotations

import re

from truekeep.text.salient import codes, numbers
from truekeep.text.salient.cursor import Cursor
from truekeep.text.salient.model import Kind
from truekeep.text.salient.read_dates import ago, day_then_month, is_year

_NUMBER = re.compile(r"(-?[\d., ']*\d)(\D*)")
_MOST_NUMBER_WORDS = 24
"""Words in one written-out number; a longer run is read as several, since its value would be astronomical."""


def number(at: Cursor, place: int) -> int:
    """A number in digits, together with its scale, currency, percent sign, month or unit."""
    token = at.tokens[place]
    match = _NUMBER.fullmatch(token.text)
    if not match:
        return place + 1
    digits, stuck = match[1], match[2]
    if day := day_then_month(at, place, digits, stuck):
        return day
    if stuck and stuck != "%" and not _sticks(at, stuck):
        at.add(Kind.CODE, codes.compact(token.text), token.start, token.end)
        return place + 1
    return _quantity(at, place, place + 1, digits, stuck)


def _sticks(at: Cursor, stuck: str) -> bool:
    low = stuck.casefold()
    return stuck in at.units.scales or low in at.units.units or low in at.units.currencies


def _quantity(at: Cursor, first: int, after: int, digits: str, stuck: str) -> int:
    if not stuck and (end := ago(at, first, after, digits)):
        return end
    currency, start, after, scale = _money_around(at, first, after, stuck)
    readings = numbers.readings(digits, is_money=bool(currency))
    if not readings:
        token = at.tokens[first]
        at.add(Kind.CODE, codes.compact(digits), token.start, token.end)
        return first + 1
    values = [numbers.canonical(reading * scale) for reading in readings]
    end = at.tokens[after - 1].end
    if currency:
        also = tuple(f"{value} {currency}" for value in values[1:])
        at.add(Kind.MONEY, f"{values[0]} {currency}", start, end, also=also)
    elif stuck == "%" or at.low_at(after) in at.units.percent or at.text_at(after) == "%":
        after += stuck != "%"
        at.add(Kind.PERCENT, values[0], start, at.tokens[after - 1].end, also=tuple(values[1:]))
    elif after == first + 1 and not stuck and is_year(at, first, digits):
        at.add(Kind.DATE, digits, start, end)
    elif after == first + 1 and not stuck and _is_identifier(at, first, digits):
        at.add(Kind.CODE, codes.compact(digits), start, end)
    else:
        unit = stuck.casefold() if stuck and stuck not in at.units.scales else at.unit_at(after)
        at.add(Kind.NUMBER, values[0], start, end, unit=unit, also=tuple(values[1:]))
    return after


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
        value = numbers.word_value(at.lower[after], at.language.name)
        joins = values and at.lower[after] in at.language.joiners
        if value is None and not joins:
            break
        values += value or ()
        after += 1
    while after > place and at.lower[after - 1] in at.language.joiners:
        after -= 1
    if not values or (after == place + 1 and _is_weak(at, place)):
        return None
    return _quantity(at, place, after, str(numbers.combine(values)), "")


def _is_weak(at: Cursor, place: int) -> bool:
    """ "One" is mostly a pronoun or an article; it counts only before something that can be counted."""
    if at.lower[place] not in at.language.weak:
        return False
    return at.low_at(place + 1) not in at.units.currencies and not at.unit_at(place + 1)
