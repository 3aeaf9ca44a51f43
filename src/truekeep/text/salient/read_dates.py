"""Read dates: in figures, with a month's name, as a weekday, or relative to the day of the message."""

from __future__ import annotations

from truekeep.text.salient import codes, dates
from truekeep.text.salient.cursor import Cursor
from truekeep.text.salient.model import Kind
from truekeep.text.salient.tokens import Token


def day_then_month(at: Cursor, place: int, digits: str, stuck: str) -> int | None:
    """ "14 March 2025", "14. marca", "14th of March"."""
    if not _is_day(digits) or stuck not in ("", "st", "nd", "rd", "th"):
        return None
    after = place + 1
    after += at.text_at(after) == "."
    after += at.language.roles.get(at.low_at(after)) == "of"
    number = month(at, after)
    if not number:
        return None
    year, end = _year_after(at, after + 1)
    value = dates.month_day(number, int(digits), year)
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
        value = dates.month_day(month, int(digits), year)
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
        unit = _span(at, place + 2)
        if count and unit:
            at.add(Kind.DATE, _shift(count, unit), token.start, at.tokens[place + 2].end)
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


def ago(at: Cursor, first: int, after: int, digits: str) -> int | None:
    """ "Three days ago", "vor drei Jahren"; gives the token after it."""
    unit = _span(at, after)
    if not unit or not digits.isdigit() or len(digits) > 3:
        return None
    if at.low_at(after + 1) in at.language.ago:
        at.add(Kind.DATE, _shift(-int(digits), unit), at.tokens[first].start, at.tokens[after + 1].end)
        return after + 2
    if at.low_at(first - 1) in at.language.ago:
        at.add(Kind.DATE, _shift(-int(digits), unit), at.tokens[first].start, at.tokens[after].end)
        return after + 1
    return None


def _span(at: Cursor, place: int) -> str:
    low = at.low_at(place)
    days = at.language.spans.get(low)
    return f"{days}d" if days else at.language.long_spans.get(low, "")


def _shift(count: int, unit: str) -> str:
    """A number of days, months or years from now; weeks are counted in days."""
    return f"{count * int(unit[:-1]):+d}d" if unit.endswith("d") else f"{count:+d}{unit}"


def _count(at: Cursor, place: int) -> int | None:
    digits = at.text_at(place)
    if digits.isdigit() and len(digits) < 4:
        return int(digits)
    return at.language.numbers.get(at.low_at(place))


def is_year(at: Cursor, place: int, digits: str) -> bool:
    """Whether a bare number is a year: "moved in 2024" is no quantity."""
    if not (len(digits) == 4 and digits.isdigit() and "1900" <= digits <= "2099"):
        return False
    before = at.low_at(place - 1)
    role = at.language.roles.get(before, "")
    return before in at.units.year_cues or role in ("place", "since", "until") or before in ("(", "od")


def figures_date(at: Cursor, token: Token) -> None:
    """A date in figures; one that no calendar has is kept as a code."""
    if token.kind == "iso":
        iso = dates.iso_date(token.text)
        if iso:
            at.add(Kind.DATE, iso[0], token.start, token.end)
            if iso[1]:
                at.add(Kind.TIME, iso[1], token.start, token.end)
            return
    elif known := dates.numeric_date(token.text):
        at.add(Kind.DATE, known[0], token.start, token.end, also=known[1])
        return
    at.add(Kind.CODE, codes.compact(token.text), token.start, token.end)
