"""Read off a claim since when and until when it holds, as moments.

Only a text of one clause gives its own times: in a longer one they belong to one of several facts. A weekday, a
month or a day without its year is the last one before it was said for a beginning, and the next one after it for an
end. What can mean two days gives none. Pure.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from truekeep.text.dates import resolved
from truekeep.text.lexemes import lexemes
from truekeep.text.tokens import Kind

if TYPE_CHECKING:
    from truekeep.text.clause import Clause
    from truekeep.trust.influence.claims import Claim

_DAY = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?", re.ASCII)
_YEARLY = re.compile(r"--(\d{2})(?:-(\d{2}))?", re.ASCII)
_WEEKDAY = re.compile(r"w[0-6]", re.ASCII)
_YEARS_AROUND = range(-8, 9)

Span = tuple[date, date]
"""The first day of a stretch of time, and the first day after it."""


def valid_time(claim: Claim, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """The first moment at which the claim holds and the first at which it no longer does, where it says so."""
    if len(claim.clauses) != 1:
        return None, None
    clause = claim.clauses[0]
    since = _span(clause.since or _change_date(clause), said_at, ends=False)
    until = _span(clause.until, said_at, ends=True)
    return _moment(since[0]) if since else None, _moment(until[1]) if until else None


def _change_date(clause: Clause) -> str:
    """When a change took place: "I moved to Brno in May"."""
    if clause.is_attribute or clause.negations or not any(word in lexemes().changes for word in clause.value[1:]):
        return ""
    dates = [value.key for value in clause.values if value.kind is Kind.DATE]
    return dates[0] if len(dates) == 1 else ""


def _span(canonical: str, said_at: datetime, *, ends: bool) -> Span | None:
    value = canonical.partition(":")[2]
    if yearly := _YEARLY.fullmatch(value):
        return _nearest(int(yearly[1]), int(yearly[2]) if yearly[2] else None, said_at.date(), ends=ends)
    if not ends and _WEEKDAY.fullmatch(value):
        past = said_at.date() - timedelta(days=(said_at.weekday() - int(value[1:])) % 7)
        return past, past + timedelta(days=1)
    meant = resolved(value, said_at)
    match = _DAY.fullmatch(next(iter(meant))) if len(meant) == 1 else None
    if match is None:
        return None
    return _days(int(match[1]), int(match[2]) if match[2] else None, int(match[3]) if match[3] else None)


def _nearest(month: int, day: int | None, today: date, *, ends: bool) -> Span | None:
    spans = [span for shift in _YEARS_AROUND if (span := _days(today.year + shift, month, day))]
    if ends:
        return next((span for span in spans if span[1] > today), None)
    return next((span for span in reversed(spans) if span[0] <= today), None)


def _days(year: int, month: int | None, day: int | None) -> Span | None:
    try:
        if month is None:
            return date(year, 1, 1), date(year + 1, 1, 1)
        if day is None:
            return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, day), date(year, month, day) + timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
