"""Dates and times: read from a row of tokens, brought to one form, and resolved from the time of the message.

Forms: ``2025-03-14``, ``2025-03``, ``2025``, ``--03-14`` (no year given), ``w4`` (a Friday), ``n4`` and ``l4``
(next and last Friday), ``+3d`` (in three days), ``-1w``, ``-1m``, ``-1y`` (last week, month, year), ``2025?03/04``
(day and month in unknown order) and ``15:30`` for times.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from truekeep.text.tokens import Kind, ValueToken, compact, shift

if TYPE_CHECKING:
    from truekeep.text.quantities import Cursor

_ISO = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[T ](.*))?")
_DMY = re.compile(r"(\d{1,2})([./-]) ?(\d{1,2})[./-] ?(\d{2,4})")
_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?[.\d]*\s*([AaPp])?")
_RELATIVE = re.compile(r"([+-]\d{1,4})([dwmy])")
_MONTH_DAY = re.compile(r"--\d{2}-\d{2}")


def valid(year: int, month: int, day: int) -> str | None:
    """The date in its full form, or None when there is no such day."""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def month_day(month: int, day: int, year: int | None) -> str | None:
    """A day with or without its year; None when there is no such day."""
    if year is not None:
        return valid(year, month, day)
    return f"--{month:02d}-{day:02d}" if valid(2000, month, day) else None


def iso_date(text: str) -> tuple[str, str | None] | None:
    """Date and time of day of an ISO spelling."""
    match = _ISO.fullmatch(text)
    if not match:
        return None
    day = valid(int(match[1]), int(match[2]), int(match[3]))
    return (day, time_of_day(match[4]) if match[4] else None) if day else None


def numeric_date(text: str) -> tuple[str, tuple[str, ...]] | None:
    """A date in figures and its possible readings; with slashes the order can be unknown."""
    match = _DMY.fullmatch(text)
    if not match:
        return None
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    if year < 100:
        year += 2000 if year < 70 else 1900
    day_first, month_first = valid(year, second, first), valid(year, first, second)
    if match[2] == "." or month_first is None or day_first is None or first == second:
        known = day_first or (None if match[2] == "." else month_first)
        return (known, ()) if known else None
    return f"{year:04d}?{first:02d}/{second:02d}", (day_first, month_first)


def time_of_day(text: str) -> str | None:
    """A time on the 24-hour clock; seconds only where they are given and not zero."""
    match = _TIME.match(text)
    if not match:
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    half = (match[4] or "").lower()
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return f"{hour:02d}:{minute:02d}" + (f":{second:02d}" if second else "")


def resolved(value: str, at: datetime) -> frozenset[str]:
    """The dates that a canonical date can mean when said at that time; a week is known by its Monday."""
    today = at.date()
    if match := _RELATIVE.fullmatch(value):
        return frozenset({_shifted(today, int(match[1]), match[2])})
    if _MONTH_DAY.fullmatch(value):
        month, day = int(value[2:4]), int(value[5:7])
        years = (valid(today.year + shift, month, day) for shift in range(-4, 5))
        return frozenset({min((y for y in years if y), key=lambda day: _distance(day, today))})
    if value[:1] in ("w", "n", "l") and value[1:].isdigit():
        return frozenset(day.isoformat() for day in _weekdays(value[0], int(value[1:]), today))
    return frozenset({value})


def _shifted(today: date, count: int, unit: str) -> str:
    if unit == "d":
        return (today + timedelta(days=count)).isoformat()
    if unit == "w":
        return (today - timedelta(days=today.weekday()) + timedelta(days=7 * count)).isoformat()
    if unit == "y":
        return f"{today.year + count:04d}"
    months = today.year * 12 + today.month - 1 + count
    return f"{months // 12:04d}-{months % 12 + 1:02d}"


def _weekdays(form: str, weekday: int, today: date) -> set[date]:
    """The days meant by a weekday; people differ on whether "next" skips one."""
    ahead = (weekday - today.weekday()) % 7
    coming = today + timedelta(days=ahead)
    if form == "l":
        past = today - timedelta(days=(today.weekday() - weekday) % 7 or 7)
        return {past, past - timedelta(days=7)}
    return {coming, coming + timedelta(days=7)} if form == "n" or not ahead else {coming}


def _distance(day: str, today: date) -> tuple[int, str]:
    """Nearest first; plans are more common than reports, so the past counts as a little further away."""
    gap = (date.fromisoformat(day) - today).days
    return (gap if gap >= 0 else 2 - 2 * gap, day)


def day_then_month(at: Cursor, place: int, digits: str, stuck: str) -> int | None:
    """ "14 March 2025", "14. marca", "14th of March"; gives the token after it."""
    if not _is_day(digits) or stuck not in ("", "st", "nd", "rd", "th"):
        return None
    after = place + 1
    after += at.text_at(after) == "."
    after += at.language.roles.get(at.low_at(after)) == "of"
    number = month(at, after)
    if not number:
        return None
    year, end = _year_after(at, after + 1)
    value = month_day(number, int(digits), year)
    if value is None:
        return None
    at.add(Kind.DATE, value, at.tokens[place].start, at.tokens[end - 1].end)
    return end


def _is_day(digits: str) -> bool:
    return len(digits) <= 2 and digits.isdigit() and 1 <= int(digits) <= 31


def month(at: Cursor, place: int) -> int:
    """The month named there, or zero."""
    text, low = at.text_at(place), at.low_at(place)
    # "may" and "mar" are words too; a month is written with a capital where that matters.
    return 0 if text == "may" else at.language.months.get(low, 0)


def _year_after(at: Cursor, place: int) -> tuple[int | None, int]:
    skip = place + (at.text_at(place) == "," or at.language.roles.get(at.low_at(place)) == "of")
    text = at.text_at(skip)
    return (int(text), skip + 1) if len(text) == 4 and text.isdigit() else (None, place)


def month_then_day(at: Cursor, place: int, month: int) -> int | None:
    """ "March 14, 2025", "March 2025", "in March"."""
    following = at.text_at(place + 1)
    digits = following.rstrip("stndrh") if following[:1].isdigit() else ""
    start = at.tokens[place].start
    if _is_day(digits):
        year, end = _year_after(at, place + 2)
        value = month_day(month, int(digits), year)
        if value:
            at.add(Kind.DATE, value, start, at.tokens[end - 1].end)
            return end
    year, end = _year_after(at, place + 1)
    if year:
        at.add(Kind.DATE, f"{year:04d}-{month:02d}", start, at.tokens[end - 1].end)
        return end
    if at.language.roles.get(at.low_at(place - 1)) in ("place", "since", "until"):
        at.add(Kind.DATE, f"--{month:02d}", start, at.tokens[place].end)
        return place + 1
    return None


def relative(at: Cursor, place: int, low: str) -> int | None:
    """ "Tomorrow", "next Friday", "last week", "in three days"; gives the token after it."""
    tables, token = at.language, at.tokens[place]
    if low in tables.days:
        at.add(Kind.DATE, f"{tables.days[low]:+d}d", token.start, token.end)
        return place + 1
    if low in tables.weekdays:
        near = {at.low_at(place - 1), at.low_at(place + 1)}
        form = "l" if near & tables.last else "n" if near & tables.next else "w"
        at.add(Kind.DATE, f"{form}{tables.weekdays[low]}", token.start, token.end)
        return place + 1
    if low in tables.long_spans:
        return _week_month_or_year(at, place)
    if low in tables.ahead:
        count = _count(at, place + 1)
        unit = at.span_at(place + 2)
        if count and unit:
            at.add(Kind.DATE, shift(count, unit), token.start, at.tokens[place + 2].end)
            return place + 3
    return None


def _week_month_or_year(at: Cursor, place: int) -> int | None:
    """ "Last week", "next year", and the same with the words the other way round."""
    tables = at.language
    for beside in (place - 1, place + 1):
        low = at.low_at(beside)
        shift = -1 if low in tables.last else 1 if low in tables.next else 0
        if shift:
            first, last = sorted((place, beside))
            at.add(
                Kind.DATE,
                f"{shift:+d}{tables.long_spans[at.low_at(place)]}",
                at.tokens[first].start,
                at.tokens[last].end,
            )
            return max(place, beside) + 1
    return None


def _count(at: Cursor, place: int) -> int | None:
    digits = at.text_at(place)
    if digits.isdigit() and len(digits) < 4:
        return int(digits)
    return at.language.numbers.get(at.low_at(place))


def figures_date(at: Cursor, token: ValueToken) -> None:
    """A date in figures; one that no calendar has is kept as a code."""
    if token.kind == "iso":
        iso = iso_date(token.text)
        if iso:
            at.add(Kind.DATE, iso[0], token.start, token.end)
            if iso[1]:
                at.add(Kind.TIME, iso[1], token.start, token.end)
            return
    elif known := numeric_date(token.text):
        at.add(Kind.DATE, known[0], token.start, token.end, also=known[1])
        return
    at.add(Kind.CODE, compact(token.text), token.start, token.end)
