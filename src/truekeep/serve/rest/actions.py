"""The act boundary and its outcomes: judge a call, confirm or redeem its ticket, credit a run."""

from __future__ import annotations

from typing import Any, Literal

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.act.tickets import TicketRecord
from truekeep.errors import InvalidRequest
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.models import Ack, Body, MaybeName, Moment, Name
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller
from truekeep.trust.origin import own_member
from truekeep.types import utc_text

router = resource("/v1", "actions")


class Action(Body):
    """A call that the agent wants to make."""

    session: Name
    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    run: Name | None = None


class TracedBody(BaseModel):
    """Where one argument came from."""

    path: str
    sources: list[str]
    model_config = {"extra": "allow"}


class ActionAnswerBody(BaseModel):
    """Whether it may."""

    decision: Literal["allow", "confirm", "deny"]
    code: str
    reasons: list[str]
    ticket: str | None
    effects: bool
    arguments: list[TracedBody]


class WaitingBody(BaseModel):
    """A call that waits for the owner, as the owner is to see it."""

    id: str
    session: str
    action: str
    arguments: str
    code: str
    reasons: list[str]
    run: str
    at: str
    expires_at: str
    matched: list[str]
    effects: bool
    origins: dict[str, str]
    sources: dict[str, list[str]]
    leaving: list[str]
    was_clean: bool


class WaitingList(BaseModel):
    """The calls that wait, oldest first."""

    tickets: list[WaitingBody]


class Redeemed(Body):
    """The call that a ticket is used up for, and the session it is made in, which an agent's token has to name."""

    session: Name | None = None
    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)


class WhyBody(BaseModel):
    """The call, its reasons, where each value came from, and what tainted the session."""

    ticket: str
    session: str
    action: str
    decision: str
    code: str
    reasons: list[str]
    values: list[dict[str, Any]]
    session_was_clean: bool
    session_is_tainted_by: str
    model_config = {"extra": "allow"}


class GrantBody(Body):
    """A standing permission of the owner's."""

    tool: Name
    where: dict[str, str] = Field(min_length=1, max_length=50)
    cap: dict[str, str] = Field(default_factory=dict, max_length=50)
    until: Moment | None = None


class GrantOut(BaseModel):
    """A standing permission, as it was made."""

    id: str
    tool: str
    where: dict[str, str]
    cap: dict[str, str]
    until: str | None


class GrantList(BaseModel):
    """Standing permissions, oldest first."""

    grants: list[GrantOut]


class CreditBody(Body):
    """How a run ended."""

    run: Name
    outcome: Literal["good", "bad"]


class Credited(BaseModel):
    """The memories it counts for."""

    run: str
    outcome: str
    memories: list[str]


@router.post("/check-action", response_model=ActionAnswerBody)
def check_action(body: Action, call: Caller) -> Response:
    """May the agent make this call? Decided by where each value in it came from."""

    def do() -> Response:
        with call.lease(session=body.session, noted=True) as lease:
            answer = lease.handle.check_action(body.name, body.arguments, run=body.run)
        call.service.metrics.count("truekeep_actions_total", decision=answer.decision.value)
        return JSONResponse(answer.as_dict())

    return call.once(do)


@router.get("/tickets", response_model=WaitingList)
def pending(call: Caller, session: MaybeName = None) -> Response:
    """The calls that wait for the owner; only a token that could confirm them sees them."""
    with call.lease() as lease:
        waiting = lease.keep.actions.pending(session, via=call.identity.channel)
    return JSONResponse({"tickets": [_waiting(record) for record in waiting]})


def _acknowledged(_: object) -> Response:
    return JSONResponse({"status": "ok"})


def _waiting(record: TicketRecord) -> dict[str, Any]:
    shown = {
        "id": record.id,
        "session": record.session,
        "action": record.action,
        "arguments": record.arguments,
        "code": record.code,
        "reasons": list(record.reasons),
        "run": record.run,
        "at": utc_text(record.at),
        "expires_at": utc_text(record.expires_at),
        "matched": list(record.matched),
        "effects": record.has_effects,
        "origins": dict(record.origins),
        "sources": {path: list(names) for path, names in record.sources.items()},
        "leaving": list(record.leaving),
        "was_clean": record.was_clean,
    }
    return {name: sanitised_json(value) for name, value in shown.items()}


@router.get("/tickets/{ticket}", response_model=WhyBody)
def why(ticket: str, call: Caller) -> Response:
    """How an answer came about; only a token that could confirm the call sees it."""
    with call.lease() as lease:
        return JSONResponse(sanitised_json(lease.keep.actions.why(ticket, via=call.identity.channel)))


@router.get("/grants", response_model=GrantList)
def list_grants(call: Caller) -> Response:
    """The owner's standing permissions, for a token that could make them."""
    with call.lease() as lease:
        mine = lease.keep.grants.list(via=call.identity.channel)
        return JSONResponse({"grants": [sanitised_json(one.as_dict()) for one in mine]})


@router.post("/grants", status_code=201, response_model=GrantOut)
def add_grant(body: GrantBody, call: Caller) -> Response:
    """Permit calls of a tool whose targets fit the patterns; only the owner's channel can."""

    def do() -> Response:
        given = body.model_dump()
        with call.lease(noted=True) as lease:
            made = lease.keep.grants.add(**given, by=call.identity.signs_as, via=call.identity.channel)
        return JSONResponse(sanitised_json(made.as_dict()), 201)

    return call.once(do)


@router.delete("/grants/{grant}", response_model=Ack)
def remove_grant(grant: str, call: Caller) -> Response:
    """Take a standing permission back."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            lease.keep.grants.remove(grant, by=call.identity.signs_as, via=call.identity.channel)
        return JSONResponse({"status": "ok"})

    return call.once(do, _acknowledged)


@router.post("/tickets/{ticket}/redeem", response_model=Ack)
def redeem(ticket: str, body: Redeemed, call: Caller) -> Response:
    """Use a ticket up for just this call."""

    def do() -> Response:
        with call.lease(session=body.session, noted=True) as lease:
            channel = lease.keep.channels.get(call.identity.channel)
            if body.session is None and (own_member(channel) is not None or not channel.may("observe")):
                raise InvalidRequest("Name the session that makes the call.", code="no_session")
            lease.keep.actions.redeem(ticket, body.name, body.arguments, session=body.session)
        return JSONResponse({"status": "ok"})

    return call.once(do, _acknowledged)


@router.post("/tickets/{ticket}/confirm", response_model=Ack)
def confirm(ticket: str, call: Caller) -> Response:
    """The owner confirms a call that waits; only the owner's channel can."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            lease.handle.confirm(ticket)
        return JSONResponse({"status": "ok"})

    return call.once(do, _acknowledged)


@router.post("/tickets/{ticket}/decline", response_model=Ack)
def decline(ticket: str, call: Caller) -> Response:
    """The owner turns a call down."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            lease.keep.actions.decline(ticket, via=call.identity.channel)
        return JSONResponse({"status": "ok"})

    return call.once(do, _acknowledged)


@router.post("/credit", status_code=201, response_model=Credited)
def credit(body: CreditBody, call: Caller) -> Response:
    """Say how a run ended, over a channel that may credit."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            done = lease.keep.credit(body.run, body.outcome, via=call.identity.channel)
        return JSONResponse(done, 201)

    return call.once(do)
