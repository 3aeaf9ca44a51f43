"""Incidents: where a memory came from and whom it reached, and taking back what should never have come in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from truekeep.incident.records import Incident
from truekeep.incident.report import IncidentReport
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.long_term import own_id
from truekeep.serve.rest.models import Body, Moment, Name, Reason
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller

router = resource("/v1", "incidents")


class ReportOut(BaseModel):
    """What was found or done."""

    model_config = ConfigDict(extra="allow")


class ExposuresOut(BaseModel):
    """Which sessions were shown a memory, and which actions it was matched in."""

    exposures: list[dict[str, Any]]


class IncidentList(BaseModel):
    """Every revocation and rewind."""

    incidents: list[dict[str, Any]]


class Revoke(Body):
    """A source to take back, with everything derived from it. Without ``dry_run: false`` nothing is done."""

    principal: str | None = Field(default=None, max_length=500)
    channel: Name | None = None
    session: Name | None = None
    prompt: Name | None = None
    since: Moment | None = None
    dry_run: bool = True
    reason: Reason


class Rewind(Body):
    """A moment, or an audit event's number, to go back to. Without ``dry_run: false`` nothing is done."""

    to: Moment | Annotated[int, Field(ge=0, le=1 << 60)]
    dry_run: bool = True
    reason: Reason


class Undo(Body):
    """A revocation or a rewind to take back."""

    incident: Name
    reason: Reason


@router.get("/incidents", response_model=IncidentList)
def incidents(call: Caller) -> Response:
    """Every revocation and rewind, oldest first."""
    with call.lease() as lease:
        listed = lease.keep.incidents()
    return JSONResponse({"incidents": sanitised_json([_incident(one) for one in listed])})


@router.get("/incidents/{incident}", response_model=ReportOut)
def account(incident: str, call: Caller) -> Response:
    """An incident told again: what it took out or put back, who had seen it and what was done."""
    with call.lease() as lease:
        return reported(lease.keep.account(incident))


@router.get("/trace/{memory_id}", response_model=ReportOut)
def trace(memory_id: str, call: Caller) -> Response:
    """Where a memory came from, what came of it, who saw it, and what was decided about it."""
    with call.lease() as lease:
        return reported(lease.keep.trace(own_id(lease, call, memory_id)))


@router.get("/exposures/{memory_id}", response_model=ExposuresOut)
def exposures(memory_id: str, call: Caller) -> Response:
    """Which sessions were shown a memory, and which actions it was matched in."""
    with call.lease() as lease:
        found = lease.keep.exposures(own_id(lease, call, memory_id))
    return JSONResponse({"exposures": sanitised_json(found)})


@router.get("/blame/{run}", response_model=ReportOut)
def blame(run: str, call: Caller) -> Response:
    """From a run's actions back to the memories in them."""
    with call.lease() as lease:
        return reported(lease.keep.blame(run))


@router.post("/revoke", response_model=ReportOut)
def revoke(body: Revoke, call: Caller) -> Response:
    """Take back what came from a source; first a dry run, which only says what that does."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            return reported(lease.keep.revoke(**body.model_dump(), by=call.reviewer))

    return call.once(do)


@router.post("/rewind", response_model=ReportOut)
def rewind(body: Rewind, call: Caller) -> Response:
    """Put the memories back to what they were; first a dry run."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            done = lease.keep.rewind(body.to, dry_run=body.dry_run, by=call.reviewer, reason=body.reason)
        return reported(done)

    return call.once(do)


@router.post("/undo", response_model=ReportOut)
def undo(body: Undo, call: Caller) -> Response:
    """Take a revocation or a rewind back."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            done = lease.keep.undo(body.incident, by=call.reviewer, reason=body.reason)
        return JSONResponse(sanitised_json(_incident(done)) | {"incident": done.id})

    return call.once(do)


def reported(report: IncidentReport) -> Response:
    """A report's data, and beside it what its page for people is made of."""
    page = {
        "title": report.title,
        "facts": dict(report.facts),
        "sections": [[one.title, list(one.columns), [list(row) for row in one.rows]] for one in report.sections],
    }
    return JSONResponse(sanitised_json(report.as_dict()) | {"page": sanitised_json(page)})


def _incident(one: Incident) -> dict[str, Any]:
    """An incident with the versions that it took out and put back, and the review items it opened."""
    versions = {"removed": one.removed, "restored": one.restored}
    return one.as_dict() | {"versions": versions, "items": list(one.items)}
