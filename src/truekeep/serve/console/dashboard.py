"""The dashboard: writes by verdict over time, who is rejected, how long the queue waits, and the red team's score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.ops import redteam_scores as scores
from truekeep.serve.console.charts import Multiple, ages, multiple, stacked
from truekeep.serve.console.desk import DeskEntry, Seated

if TYPE_CHECKING:
    from truekeep.audit.log import WritesOfDay
    from truekeep.keep import Keep

router = APIRouter()
ENTRY = DeskEntry("dashboard", "dashboard")
_DAYS, _MOST_SOURCES = 30, 8
_LIMITS = (1, 3, 7, 14, 21)
"""Where the groups of the queue's ages end, in days."""


@router.get("/k/{keep}/dashboard")
def dashboard(desk: Seated) -> Response:
    """How this keep fares."""
    now = datetime.now(UTC)
    first = now.date() - timedelta(days=_DAYS - 1)
    with desk.open() as keep:
        days = keep.audit.writes_by_day(now.date(), _DAYS)
        rejected = keep.audit.rejected_sources(first)
        wrapped = keep.entries.tallies()
        multiples = list(_multiples(keep, days))
        cards = [card for group in keep.review.groups() for card in group.cards]
    waited = [(now - card.item.created_at).total_seconds() for card in cards]
    counts = ages(waited, [limit * 86_400 for limit in _LIMITS])
    return desk.page(
        "dashboard.html",
        here="dashboard",
        days=days,
        sums={name: sum(getattr(day, name) for day in days) for name in ("accepted", "held", "rejected")},
        chart=stacked(
            [(f"{one.day:%-d.%-m.}", one.day.isoformat(), (one.accepted, one.held, one.rejected)) for one in days],
            every=5,
        ),
        sources=rejected.most_common(_MOST_SOURCES),
        most=max(rejected.values(), default=0),
        queue=list(zip(_spans(), counts, strict=True)),
        waiting=len(waited),
        oldest=now - timedelta(seconds=max(waited)) if waited else None,
        wrapped=wrapped,
        multiples=multiples,
        scores=scores.last(desk.service.pool.paths),
    )


def _multiples(keep: Keep, days: Sequence[WritesOfDay]) -> Iterator[tuple[Multiple, float | None]]:
    """How much a person is bothered: each as a small chart, with its value over all the days.

    Of calls those count that were not denied: what the boundary refuses outright asks nobody.
    """
    answers, waited = keep.calls.answers_by_day(), dict[date, list[float]]()
    for at, took in keep.review.decision_times():
        waited.setdefault(at.date(), []).append(took.total_seconds() / 3_600)
    shown = {one.day for one in days}
    asked = {day: (answers[day, "confirm"], answers[day, "confirm"] + answers[day, "allow"]) for day in shown}
    held = {one.day: (one.held, one.held + one.accepted + one.rejected) for one in days}
    for name, parts in (("asks", asked), ("held", held)):
        rows = [(one.day.isoformat(), _percent(*parts[one.day])) for one in days]
        whole = _percent(sum(part for part, _ in parts.values()), sum(of for _, of in parts.values()))
        yield multiple(name, rows, 10.0), whole
    hours = [(one.day.isoformat(), median(waited[one.day]) if one.day in waited else None) for one in days]
    every = [took for day in shown for took in waited.get(day, ())]
    yield multiple("review", hours), median(every) if every else None


def _percent(part: int, of: int) -> float | None:
    return 100 * part / of if of else None


def _spans() -> list[dict[str, Any]]:
    """The groups of ages: from and to, in days; the last has no end."""
    return [{"since": since, "until": until} for since, until in zip((0, *_LIMITS), (*_LIMITS, None), strict=True)]
