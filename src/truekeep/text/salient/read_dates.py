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
    """ "Tomorrow", "next Friday", "in three days"; gives the token after it."""
    token = at.tokens[place]
    if low in at.language.days:
        at.add(Kind.DATE, f"{at.language.days[low]:+d}d", token.start, token.end)
        return place + 1
    if low in at.language.weekdays:
        form = "n" if at.low_at(place - 1) in ("next", "nächsten", "prochain", "budúci") else "w"
        at.add(Kind.DATE, f"{form}{at.language.weekdays[low]}", token.start, token.end)
        return place + 1
    if low == "in" and (span := at.language.spans.get(at.low_at(place + 2))):
        digits = at.text_at(place + 1)
        count = int(digits) if digits.isdigit() and len(digits) < 4 else None
        if count is None:
            count = at.language.numbers.get(at.low_at(place + 1))
        if count:
            at.add(Kind.DATE, f"{count * span:+d}d", token.start, at.tokens[place + 2].end)
            return place + 3
    return None


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
