"""The dashboard: writes by verdict over time, who is rejected, how long the queue waits, and the red team's score."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.ops import redteam_scores as scores
from truekeep.serve.console.charts import ages, stacked
from truekeep.serve.console.desk import DeskEntry, Seated

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
        scores=scores.last(desk.service.pool.paths),
    )


def _spans() -> list[dict[str, Any]]:
    """The groups of ages: from and to, in days; the last has no end."""
    return [{"since": since, "until": until} for since, until in zip((0, *_LIMITS), (*_LIMITS, None), strict=True)]
