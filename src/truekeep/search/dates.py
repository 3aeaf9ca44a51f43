"""The days that a question means ("last May", "on 7 July", "vor zwei Wochen"), and how near a day is to them.

Questions in English are read by the phrases of English; those in another language by the dates that the text room
found in them, and by months and seasons beside a word for last or next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING

from truekeep.text.tokens import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truekeep.text.analysis import Analysis
    from truekeep.text.salient import ValueScan
    from truekeep.text.tokens import Salient

_MONTH_NAMES = "january|february|march|april|may|june|july|august|september|october|november|december"
_MONTHS = _MONTH_NAMES.split("|")
_DAY_NAMES = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_DAYS = _DAY_NAMES.split("|")
_SEASONS = {"spring": (3, 5), "summer": (6, 8), "autumn": (9, 11), "fall": (9, 11), "winter": (12, 2)}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_MONTH = f"(?P<month>{_MONTH_NAMES})"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WHICH = r"(?P<which>last|this|next)"

_CALENDAR = re.compile(r"(?P<year>\d{4})?(?:-{1,2}(?P<month>\d\d))?(?:-(?P<day>\d\d))?")
_SHIFT = re.compile(r"(?P<count>[+-]\d{1,5})(?P<unit>[dwmy])")
_ENGLISH = "en"
_CUES = frozenset(
    {*_MONTHS, *_SEASONS, "ago", "last", "past", "this", "next", "yesterday", "today", "tonight", "tomorrow"}
)
_MOST = 8  # days one question asks about
FADE_DAYS = 14.0
"""People tell of something for a while after it happened; nearness falls to a third in that time."""


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of days. Without a year it recurs: "in July" is any July."""

    first: date
    last: date
    recurs: bool = False

    def spans(self, earliest: int, latest: int) -> list[tuple[int, int]]:
        """The day numbers it stands for among memories from ``earliest`` to ``latest``."""
        if not self.recurs:
            return [(self.first.toordinal(), self.last.toordinal())]
        years = range(date.fromordinal(max(1, earliest)).year - 1, date.fromordinal(max(1, latest)).year + 1)
        length = (self.last - self.first).days
        starts = [first for year in years[-100:] if (first := _safe_date(year, self.first.month, self.first.day))]
        return [(first.toordinal(), first.toordinal() + length) for first in starts]


def periods(read: Analysis, today: date) -> tuple[Period, ...]:
    """The periods that a question names, at most eight."""
    if read.language.name == _ENGLISH:
        # Most questions name no day, which their words tell at a glance.
        says_when = not _CUES.isdisjoint(read.words) or any(word[0].isdigit() for word in read.words)
        return _english(read.text, today) if says_when else ()
    named = (period for value in read.values if value.kind is Kind.DATE for period in _meant(value, today))
    return tuple(islice(chain(named, _beside(read.scan, today)), _MOST))


def _meant(value: Salient, today: date) -> Iterator[Period]:
    """The periods that a date in its canonical form stands for; of one whose order is unknown, both."""
    for form in value.also or (value.value,):
        period = _period(form, today)
        if period is not None:
            yield period


def _period(form: str, today: date) -> Period | None:
    if match := _CALENDAR.fullmatch(form):
        return _on_calendar(match)
    if match := _SHIFT.fullmatch(form):
        return _shifted(int(match["count"]), match["unit"], today)
    if form[:1] in ("l", "n") and form[1:].isdigit():
        back = (today.weekday() - int(form[1:])) % 7 or 7
        return _around(today, -back if form[0] == "l" else 7 - back, spread=0)
    return None


def _on_calendar(match: re.Match[str]) -> Period | None:
    """A day, a month or a year; without a year it recurs."""
    year, month, day = (int(match[name]) if match[name] else None for name in ("year", "month", "day"))
    if day is not None:
        exact = _safe_date(year or 2000, month or 0, day)
        return None if exact is None else Period(exact, exact, recurs=year is None)
    if month is not None:
        return _months(year or 2001, month, month, recurs=year is None) if 1 <= month <= 12 else None
    return Period(date(year, 1, 1), date(year, 12, 31)) if year else None


def _shifted(count: int, unit: str, today: date) -> Period | None:
    """So many days, weeks, months or years from today, as roughly as it was said."""
    if unit == "d":
        return _around(today, count, spread=3 if count and count % 7 == 0 else 0)
    if unit == "w":
        return _around(today, 7 * count - today.weekday() + 3, spread=3)
    if unit == "y":
        year = today.year + count
        return Period(date(year, 1, 1), date(year, 12, 31)) if 1 <= year <= 9998 else None
    place = today.year * 12 + today.month - 1 + count
    return _months(place // 12, place % 12 + 1, place % 12 + 1, recurs=False) if 12 <= place < 119_976 else None


def _beside(scan: ValueScan, today: date) -> Iterator[Period]:
    """Months and seasons with a word for last or next beside them, and seasons as such."""
    tables, lower = scan.language, scan.lower
    for place, word in enumerate(lower):
        months, seasons = tables.months.get(word, 0), tables.seasons.get(word, 0)
        if not months and not seasons:
            continue
        near = {*lower[max(0, place - 1) : place], *lower[place + 1 : place + 2]}
        which = "last" if near & tables.last else "next" if near & tables.next else None
        if which or seasons:
            first = months or seasons
            year = _year_of(which, first, today)
            last = first if months else (first + 1) % 12 + 1
            yield _months(year or 2001, first, last, recurs=year is None)


def _english(text: str, today: date) -> tuple[Period, ...]:
    found: list[Period] = []
    rest = text
    for pattern, read in _READERS:
        for match in list(pattern.finditer(rest))[:_MOST]:
            period = read(match, today)
            if period is not None:
                found.append(period)
                rest = rest[: match.start()] + " " * (match.end() - match.start()) + rest[match.end() :]
    return tuple(found[:_MOST])


def nearness(wanted: Sequence[Period], days: NDArray[np.int32]) -> NDArray[np.float32]:
    """For each day number 1 inside a period, falling off after it; 0 for memories without a day."""
    import numpy as np  # noqa: PLC0415 - understanding a question takes none

    near = np.zeros(days.size, dtype=np.float32)
    dated = days > 0
    if not wanted or not dated.any():
        return near
    earliest, latest = int(days[dated].min()), int(days.max())
    for period in wanted:
        for first, last in period.spans(earliest, latest):
            late = np.maximum(days - last, 0)
            early = np.maximum(first - days, 0)
            falling = np.exp(-(late + 4 * early) / np.float32(FADE_DAYS))
            np.maximum(near, np.where(dated, falling, 0), out=near, casting="unsafe")
    return near


def _whole_date(match: re.Match[str], _today: date) -> Period | None:
    year = int(match["year"]) if match["year"] else None
    month = match["month"]
    number = _MONTHS.index(month.lower()) + 1 if not month.isdigit() else int(month)
    day = _safe_date(year or 2000, number, int(match["day"]))
    return None if day is None else Period(day, day, recurs=year is None)


def _month(match: re.Match[str], today: date) -> Period | None:
    word = match["month"]
    if word in ("may", "march") and not (match["lead"] or match["which"] or match["year"]):
        return None  # "may I", "a long march"
    number = _MONTHS.index(word.lower()) + 1
    year = int(match["year"]) if match["year"] else _year_of(match["which"], number, today)
    return _months(year or 2001, number, number, recurs=year is None)


def _season(match: re.Match[str], today: date) -> Period | None:
    first, last = _SEASONS[match["season"].lower()]
    year = int(match["year"]) if match["year"] else _year_of(match["which"], first, today)
    return _months(year or 2001, first, last, recurs=year is None)


def _year(match: re.Match[str], _today: date) -> Period:
    year = int(match["year"])
    return Period(date(year, 1, 1), date(year, 12, 31))


def _ago(match: re.Match[str], today: date) -> Period | None:
    count = match["count"].lower()
    number = int(count) if count.isdigit() else _COUNTS[count]
    unit = _UNIT_DAYS[match["unit"].lower()]
    return _around(today, -number * unit, spread=unit // 2)


def _relative(match: re.Match[str], today: date) -> Period | None:
    which, unit = match["which"].lower(), match["unit"].lower()
    step = {"last": -1, "past": -1, "this": 0, "next": 1}[which]
    if unit == "year":
        return Period(date(today.year + step, 1, 1), date(today.year + step, 12, 31))
    if unit == "month":
        place = today.year * 12 + today.month - 1 + step
        return _months(place // 12, place % 12 + 1, place % 12 + 1, recurs=False)
    return _around(today, 7 * step - today.weekday() + 3, spread=3)


def _weekday(match: re.Match[str], today: date) -> Period | None:
    wanted = _DAYS.index(match["weekday"].lower())
    back = (today.weekday() - wanted) % 7 or 7
    return _around(today, -back if match["which"].lower() == "last" else 7 - back, spread=0)


def _near_today(match: re.Match[str], today: date) -> Period | None:
    return _around(today, {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(match[0].lower(), 0), spread=0)


def _year_of(which: str | None, month: int, today: date) -> int | None:
    """The year of "last May": the newest May that is over; of "this" and "next" likewise."""
    if which is None:
        return None
    if which.lower() == "last":
        return today.year if month < today.month else today.year - 1
    return today.year if which.lower() == "this" or month > today.month else today.year + 1


def _months(year: int, first: int, last: int, *, recurs: bool) -> Period:
    end_year = year + (last < first)
    end = date(end_year + last // 12, last % 12 + 1, 1) - timedelta(days=1)
    return Period(date(year, first, 1), end, recurs=recurs)


def _around(today: date, shift: int, *, spread: int) -> Period | None:
    try:
        middle = today + timedelta(days=shift)
        return Period(middle - timedelta(days=spread), middle + timedelta(days=spread))
    except OverflowError:
        return None


def _safe_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _readers() -> Iterator[tuple[re.Pattern[str], Callable[[re.Match[str], date], Period | None]]]:
    def pattern(expression: str) -> re.Pattern[str]:
        return re.compile(r"\b" + expression + r"\b", re.IGNORECASE)

    yield pattern(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"), _whole_date
    yield pattern(rf"{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?"), _whole_date
    yield pattern(rf"{_MONTH} {_DAY}(?:,? {_YEAR})?"), _whole_date
    yield (
        pattern(rf"(?:(?P<lead>in|of|since|during|early|late) )?(?:{_WHICH} )?{_MONTH}(?:,? (?:of )?{_YEAR})?"),
        _month,
    )
    yield (
        pattern(rf"(?:{_WHICH} |in (?:the )?|during (?:the )?)(?P<season>{'|'.join(_SEASONS)})(?: (?:of )?{_YEAR})?"),
        _season,
    )
    yield pattern(rf"(?:in|of|since|during|for) {_YEAR}"), _year
    yield pattern(r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago"), _ago
    yield pattern(r"(?P<which>last|past|this|next) (?P<unit>week|month|year)"), _relative
    yield pattern(rf"(?P<which>last|next) (?P<weekday>{_DAY_NAMES})"), _weekday
    yield pattern(r"(?:yesterday|today|tonight|tomorrow|last night)"), _near_today


_READERS = tuple(_readers())
