"""Rewind: the keep's past as a timeline, what going back to a moment would change, and going back."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from truekeep.audit.log import EventFilter
from truekeep.incident.report import IncidentReport
from truekeep.serve.console.charts import stacked
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.incident import moment_in, reason_in
from truekeep.serve.console.progress import in_steps
from truekeep.types import Progress

router = APIRouter()
_DAYS, _MOST_EVENTS, _MOST_LISTED = 30, 40, 100


@router.get("/k/{keep}/rewind")
def timeline(desk: Seated, day: Annotated[str, Query(max_length=10)] = "") -> Response:
    """The days there are, and the events of one of them to go back to."""
    now = datetime.now(UTC)
    chosen = _day(day)
    with desk.open() as keep:
        days = keep.audit.writes_by_day(now.date(), _DAYS)
        page = keep.audit.page(EventFilter(since=chosen, until=chosen), limit=_MOST_EVENTS)
    rows = [(f"{one.day:%-d.%-m.}", one.day.isoformat(), (one.accepted, one.held, one.rejected)) for one in days]
    return desk.page(
        "rewind.html",
        here="incident",
        chart=stacked(rows, every=5),
        days=days,
        day=chosen,
        events=page.events,
        total=page.total,
    )


@router.post("/k/{keep}/rewind/rehearse")
def rehearse(desk: Seated, form: Form) -> Response:
    """What going back would change."""
    to, reason = _to(form), form.text("reason")

    def work(progress: Progress) -> Response:
        with desk.open() as keep:
            plan = keep.rewind(to, dry_run=True, by=desk.by, reason=reason or "rehearsal", progress=progress)
        return _planned(desk, to, plan, reason)

    return in_steps(desk, desk.words.t("incident.rewind_plan"), work, here="incident")


@router.post("/k/{keep}/rewind")
def rewind(desk: Seated, form: Form) -> Response:
    """Go back, if that does what the person saw."""
    to, reason = _to(form), reason_in(form)
    plan_seen = form.text("plan", 64)

    def work(progress: Progress) -> Response:
        with desk.open() as keep:
            plan = keep.rewind(to, dry_run=True, by=desk.by, reason=reason, progress=progress)
            done = keep.rewind(to, by=desk.by, reason=reason) if plan_seen == _digest(plan) else None
        if done is None:
            return _planned(desk, to, plan, reason, has_changed=True)
        return desk.back_to(desk.path("incident", done["incident"], done="rewind"))

    return in_steps(desk, desk.words.t("incident.do_rewind"), work, here="incident", is_look=False)


def _planned(
    desk: Desk, to: datetime | int, plan: IncidentReport, reason: str, *, has_changed: bool = False
) -> Response:
    return desk.page(
        "rewind_plan.html",
        status=409 if has_changed else 200,
        here="incident",
        plan=plan.as_dict(),
        to=to if isinstance(to, int) else to.isoformat(),
        reason=reason,
        digest=_digest(plan),
        has_changed=has_changed,
        most=_MOST_LISTED,
    )


def _digest(plan: IncidentReport) -> str:
    told = plan.as_dict()
    seen = [[[one["id"], one["version"]] for one in told[name]] for name in ("removed", "restored")]
    return hashlib.sha256(json.dumps([told["to"]["event"], *seen]).encode()).hexdigest()


def _to(form: Form) -> datetime | int:
    """A moment, or just after an event that was chosen from the list."""
    given = form.text("to", 60)
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 18 else moment_in(given)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
