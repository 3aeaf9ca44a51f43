"""Incidents: choose a source, see how far it reaches, rehearse, take it back, undo, and download the report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from starlette.exceptions import HTTPException
from starlette.responses import Response

from truekeep.audit.log import EventFilter
from truekeep.config import NAME_CAP
from truekeep.errors import InvalidRequest
from truekeep.incident.report import IncidentReport
from truekeep.read.reader import sanitised_json
from truekeep.records.origin_index import SOURCES
from truekeep.serve.console.charts import reach_graph
from truekeep.serve.console.desk import Desk, DeskEntry, Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.progress import in_steps
from truekeep.types import Progress, utc_moment

if TYPE_CHECKING:
    from truekeep.keep import Keep

router = APIRouter()
ENTRY = DeskEntry("incident", "incident")
NAMED = (*SOURCES, "since")
_MOST_LISTED, _MOST_DRAWN, _MOST_SOURCES = 100, 7, 100
_MOST_OUTCOMES = 200
"""Outcomes that are looked through for one run's, the latest."""
_OUTCOMES = EventFilter(kind="run.credited")
_TYPES = {"txt": "text/plain; charset=utf-8", "json": "application/json", "html": "text/html; charset=utf-8"}

Name = Annotated[str, Query(max_length=500)]


@router.get("/k/{keep}/incident")
def choose(desk: Seated) -> Response:
    """The sources there are, and what was taken back before."""
    with desk.open() as keep:
        sources, incidents = keep.sources(_MOST_SOURCES), keep.incidents()
        outcomes = keep.audit.page(_OUTCOMES, limit=50).events
    return desk.page(
        "incident.html",
        here="incident",
        sources=sources,
        incidents=incidents[::-1],
        bad=[event for event in outcomes if event.body.get("outcome") == "bad"][:5],
    )


@router.get("/k/{keep}/incident/look")
def look(
    desk: Seated, principal: Name = "", channel: Name = "", session: Name = "", prompt: Name = "", since: Name = ""
) -> Response:
    """How far a source reaches; nothing is changed by looking."""
    given = {"principal": principal, "channel": channel, "session": session, "prompt": prompt, "since": since}
    return _looked_at(desk, given)


@router.get("/k/{keep}/incident/run")
def run(desk: Seated, name: Annotated[str, Query(max_length=NAME_CAP)]) -> Response:
    """From a bad run back to the sources of what it relied on."""
    with desk.open() as keep:
        blamed = keep.blame(name).as_dict()
        origins = [keep.get_memory(one["id"])["origin"] for one in blamed["memories"] if one["content"] is not None]
        actions = [(one, keep.actions.question(one["ticket"])) for one in blamed["actions"][:_MOST_LISTED]]
        credited = keep.audit.page(_OUTCOMES, limit=_MOST_OUTCOMES).events
    return desk.page(
        "blame.html",
        here="incident",
        blamed=blamed,
        actions=actions,
        outcomes=[event for event in credited if event.body.get("run") == name],
        origins=_distinct(origins),
        at=utc_moment,
    )


@router.post("/k/{keep}/incident/rehearse")
def rehearse(desk: Seated, form: Form) -> Response:
    """A dry run: the whole revocation, carried out and thrown away."""
    source, reason = _source_in(form), form.text("reason")
    return in_steps(
        desk, desk.words.t("incident.rehearsal"), lambda _: _rehearsed(desk, source, reason), here="incident"
    )


@router.post("/k/{keep}/incident/revoke")
def revoke(desk: Seated, form: Form) -> Response:
    """Take the source back, if that does what the person saw in the dry run."""
    source, reason = _source_in(form), reason_in(form)
    plan_seen = form.text("plan", 64)

    def work(_: Progress) -> Response:
        with desk.open() as keep:
            plan = keep.revoke(**_arguments(source), dry_run=True, by=desk.by, reason=reason)
            is_as_seen = plan_seen == digest_of(plan)
            done = keep.revoke(**_arguments(source), by=desk.by, reason=reason) if is_as_seen else None
        if done is None:
            return _rehearsed(desk, source, reason, has_changed=True)
        return desk.back_to(desk.path("incident", done["incident"], done="revoke"))

    return in_steps(desk, desk.words.t("incident.revoke"), work, here="incident", is_look=False)


@router.post("/k/{keep}/incident/{incident_id}/undo")
def undo(desk: Seated, incident_id: str, form: Form) -> Response:
    """Take a revocation or a rewind back."""
    with desk.open() as keep:
        keep.undo(incident_id, by=desk.by, reason=reason_in(form))
    return desk.back_to(desk.path("incident", incident_id, done="undo"))


@router.get("/k/{keep}/incident/{incident_id}/report.{ending}")
def report(desk: Seated, incident_id: str, ending: str) -> Response:
    """The report as text, JSON or a page of its own."""
    if ending not in _TYPES:
        raise HTTPException(404)
    with desk.open() as keep:
        told = keep.account(incident_id)
    return downloaded(told, ending, incident_id)


@router.get("/k/{keep}/incident/{incident_id}")
def account(desk: Seated, incident_id: str, done: Annotated[str, Query(max_length=10)] = "") -> Response:
    """What was taken back, by whom and why, and what it had led to."""
    with desk.open() as keep:
        told = keep.account(incident_id).as_dict()
    return desk.page("account.html", here="incident", told=told, done=done, at=utc_moment, endings=tuple(_TYPES))


def downloaded(told: IncidentReport, ending: str, name: str) -> Response:
    """A report as a file; the HTML one runs nothing and is not shown in the console's own origin."""
    as_json = json.dumps(sanitised_json(told.as_dict()), ensure_ascii=False, indent=2)
    content = {"txt": told.text, "json": lambda: as_json + "\n", "html": told.html}[ending]()
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return Response(content, media_type=_TYPES[ending], headers=headers)


def digest_of(plan: IncidentReport) -> str:
    """What a person saw that would happen; another plan has another one."""
    told = plan.as_dict()
    pending = [one["ticket"] for one in told["actions"]["pending"]]
    parts = [[one["id"] for one in told[name]] for name in ("memories", "kept")]
    seen = json.dumps([*parts, told["taken_apart"], told["weakened"], pending])
    return hashlib.sha256(seen.encode()).hexdigest()


def _looked_at(desk: Desk, given: Mapping[str, str]) -> Response:
    source = {name: value for name, value in given.items() if value}
    with desk.open() as keep:
        reach = keep.reach(**_arguments(source), most=_MOST_LISTED)
    hrefs = {one["id"]: desk.path("memories", one["id"]) for one in reach["memories"]}
    named = ", ".join(source.values())
    return desk.page(
        "reach.html",
        here="incident",
        source=source,
        reach=reach,
        drawn=reach_graph(reach, named, hrefs, _MOST_DRAWN),
        most_drawn=_MOST_DRAWN,
        at=utc_moment,
    )


def _rehearsed(desk: Desk, source: Mapping[str, str], reason: str, *, has_changed: bool = False) -> Response:
    with desk.open() as keep:
        plan = keep.revoke(**_arguments(source), dry_run=True, by=desk.by, reason=reason or "rehearsal")
        weakened = [_said(keep, memory_id) for memory_id in plan["weakened"][:_MOST_LISTED]]
    return desk.page(
        "rehearsal.html",
        status=409 if has_changed else 200,
        here="incident",
        source=source,
        reason=reason,
        plan=plan.as_dict(),
        weakened=weakened,
        digest=digest_of(plan),
        has_changed=has_changed,
        most=_MOST_LISTED,
        at=utc_moment,
    )


def _said(keep: Keep, memory_id: str) -> dict[str, str]:
    return {"id": memory_id, "content": keep.get_memory(memory_id)["content"]}


def _source_in(form: Form) -> dict[str, str]:
    return {name: value for name in NAMED if (value := form.text(name, 500))}


def reason_in(form: Form) -> str:
    """Why; nothing is taken back without it."""
    reason = form.text("reason")
    if not reason:
        raise InvalidRequest("A reason is needed: it goes into the audit log.", code="reason_missing")
    return reason


def _arguments(source: Mapping[str, str]) -> dict[str, Any]:
    """A source as the library takes it; a time without a zone is UTC."""
    arguments: dict[str, Any] = dict(source)
    if "since" in arguments:
        arguments["since"] = moment_in(arguments["since"])
    return arguments


def moment_in(text: str) -> datetime:
    """The moment that a person named."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest("That is not a date and time.", code="invalid_moment", hint="2026-05-31T14:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _distinct(origins: list[dict[str, Any]]) -> list[dict[str, Any]]:
    named = [{name: one[name] for name in ("channel", "principal") if one.get(name)} for one in origins]
    return [one for place, one in enumerate(named) if one not in named[:place]]
