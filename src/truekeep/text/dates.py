"""Give dates and times one form, and resolve relative ones from the time of the message.

Forms: ``2025-03-14``, ``2025-03``, ``2025``, ``--03-14`` (no year given), ``w4`` (a Friday), ``n4`` and ``l4``
(next and last Friday), ``+3d`` (in three days), ``-1w``, ``-1m``, ``-1y`` (last week, month, year), ``2025?03/04``
(day and month in unknown order) and ``15:30`` for times.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

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
