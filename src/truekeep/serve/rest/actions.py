"""The act boundary and its outcomes: judge a call, confirm or redeem its ticket, credit a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.reading import sanitised_json
from truekeep.serve.rest.models import Ack, Body, Name
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.service import Caller
from truekeep.tickets import TicketRecord
from truekeep.types import utc_text

router = APIRouter(prefix="/v1", tags=["actions"], responses=refusals())


class Action(Body):
    """A call that the agent wants to make."""

    session: Name
    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    run: Name | None = None


class Traced(BaseModel):
    """Where one argument came from."""

    path: str
    memory: str | None
    model_config = {"extra": "allow"}


class Answer(BaseModel):
    """Whether it may."""

    decision: Literal["allow", "confirm", "deny"]
    code: str
    reasons: list[str]
    ticket: str | None
    consequential: bool
    arguments: list[Traced]


class Waiting(BaseModel):
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
    relied_on: list[str]
    consequential: bool


class WaitingList(BaseModel):
    """The calls that wait, oldest first."""

    tickets: list[Waiting]


class Redeemed(Body):
    """The call that a ticket is used up for."""

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)


class Credit(Body):
    """How a run ended."""

    run: Name
    outcome: Literal["good", "bad"]


class Credited(BaseModel):
    """The memories it counts for."""

    run: str
    outcome: str
    memories: list[str]


@router.post("/check-action", response_model=Answer)
def check_action(body: Action, call: Caller) -> Response:
    """May the agent make this call? Decided by where each value in it came from."""

    def do() -> Response:
        with call.lease("read", session=body.session, noted=True) as lease:
            answer = lease.handle.check_action(body.name, body.arguments, run=body.run)
        return JSONResponse(answer.as_dict())

    return call.once(do)


@router.get("/tickets", response_model=WaitingList)
def pending(call: Caller, session: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """The calls that wait for the owner; only a token that could confirm them sees them."""
    with call.lease("write") as lease:
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
        "relied_on": list(record.relied_on),
        "consequential": record.is_consequential,
    }
    return {name: sanitised_json(value) for name, value in shown.items()}


@router.post("/tickets/{ticket}/redeem", response_model=Ack)
def redeem(ticket: str, body: Redeemed, call: Caller) -> Response:
    """Use a ticket up for just this call."""

    def do() -> Response:
        with call.lease("read", noted=True) as lease:
            call.require_channel(lease, "read")
            lease.handle.redeem(ticket, body.name, body.arguments)
        return JSONResponse({"status": "ok"})

    return call.once(do, _acknowledged)


@router.post("/tickets/{ticket}/confirm", response_model=Ack)
def confirm(ticket: str, call: Caller) -> Response:
    """The owner confirms a call that waits; only the owner's channel can."""

    def do() -> Response:
        with call.lease("write", noted=True) as lease:
            lease.handle.confirm(ticket)
        return JSONResponse({"status": "ok"})

    return call.once(do, _acknowledged)


@router.post("/tickets/{ticket}/decline", response_model=Ack)
def decline(ticket: str, call: Caller) -> Response:
    """The owner turns a call down."""

    def do() -> Response:
        with call.lease("write", noted=True) as lease:
            lease.keep.actions.decline(ticket, via=call.identity.channel)
        return JSONResponse({"status": "ok"})

    return call.once(do, _acknowledged)


@router.post("/credit", status_code=201, response_model=Credited)
def credit(body: Credit, call: Caller) -> Response:
    """Say how a run ended, over a channel that may credit."""

    def do() -> Response:
        with call.lease("credit", noted=True) as lease:
            done = lease.keep.credit(body.run, body.outcome, via=call.identity.channel)
        return JSONResponse(done, 201)

    return call.once(do)
