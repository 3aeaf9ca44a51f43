"""Sessions as the host sees them: declared, told what they take in, distilled; and the snapshot of each."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep import fence
from truekeep.distil import Distilled, Taken
from truekeep.reading import sanitised_json
from truekeep.serve.rest.models import Ack, Body, Moment, Name, VerdictOut
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.service import Caller
from truekeep.types import utc_text

router = APIRouter(prefix="/v1", tags=["sessions"], responses=refusals())


class Declared(Body):
    """What the host knows of a session."""

    mediated: bool = False
    member: Name | None = None


class Observed(Body):
    """What a session took in over the token's channel."""

    text: str
    principal: str | None = None
    message: Name | None = None
    role: Name | None = None
    at: Moment | None = None


class Extract(Body):
    """How to distil a session now."""

    strategy: str = Field(default="discrete", max_length=50)
    prompt: Name | None = None
    max_summary_length: int | None = Field(default=None, ge=1, le=100_000)


class TakenOut(BaseModel):
    """One candidate: what it says, if it was accepted and the token may read, and whether its quotes prove it."""

    text: str
    supports: list[tuple[str, str | None]]
    kind: str
    topics: list[str]
    entities: list[str]
    prompt: str | None
    model: str | None
    proof: dict[str, Any]
    verdict: VerdictOut


class Extracted(BaseModel):
    """What came of it."""

    session: str
    strategy: str
    verdicts: list[VerdictOut]
    taken: list[TakenOut]
    messages: int
    repeated: int
    code: str


class SnapshotOut(BaseModel):
    """The frozen text for a session's prompt."""

    session: str
    text: str
    digest: str
    ruleset: str
    created_at: str
    stale: bool
    shows_hearsay: bool


@router.put("/sessions/{session_id}", response_model=Ack)
def declare(session_id: str, body: Declared, call: Caller) -> Response:
    """Declare that the host reports everything a session takes in. Only the owner's own token does."""
    with call.lease("write") as lease:
        call.require_channel(lease, "observe")
        lease.keep.session(session_id, mediated=body.mediated, member=body.member)
    return JSONResponse({"status": "ok"})


@router.post("/sessions/{session_id}/observe", status_code=201, response_model=Ack)
def observe(session_id: str, body: Observed, call: Caller) -> Response:
    """Report what a session took in. These are the owner's words only through the owner's token."""

    def do() -> Response:
        given: dict[str, Any] = body.model_dump(exclude={"text"}, exclude_none=True)
        with call.lease("write", session=session_id, noted=True) as lease:
            lease.handle.observe(body.text, **given)
        return JSONResponse({"status": "ok"}, 201)

    return call.once(do, lambda _: JSONResponse({"status": "ok"}, 201))


@router.post("/sessions/{session_id}/extract", response_model=Extracted)
def extract(session_id: str, body: Extract, call: Caller) -> Response:
    """Distil a session now: each memory is proved against its messages and goes through the gate."""
    if body.strategy == "custom" or body.prompt is not None:
        call.identity.require("custom-prompts")

    def do() -> Response:
        with call.lease("write", session=session_id) as lease:
            options = body.model_dump(exclude={"strategy"}, exclude_none=True)
            done: Distilled = lease.handle.extract(body.strategy, **options)
            may_read = call.may(lease, "read")
        taken = [_taken(one, may_read=may_read) for one in done.taken]
        counts = {"messages": done.messages, "repeated": done.repeated, "code": done.code}
        verdicts = [one["verdict"] for one in taken]
        return JSONResponse(
            {"session": session_id, "strategy": body.strategy, "verdicts": verdicts} | counts | {"taken": taken}
        )

    return call.once(do)


def _taken(one: Taken, *, may_read: bool) -> dict[str, Any]:
    """A candidate as it may be shown: what was not let in is not repeated, and who may not read sees no words."""
    found, is_shown = one.extraction, may_read and one.verdict.accepted
    return {
        "text": fence.sanitised(found.text) if is_shown else "",
        "supports": [(fence.sanitised(had.quote), had.message_id) for had in found.supports] if is_shown else [],
        "kind": found.kind,
        "topics": sanitised_json(found.topics) if is_shown else [],
        "entities": sanitised_json(found.entities) if is_shown else [],
        "prompt": found.prompt,
        "model": found.model,
        "proof": {"ok": one.proof.ok, "code": one.proof.code, "reason": one.proof.reason},
        "verdict": one.verdict.as_dict(),
    }


@router.post("/sessions/{session_id}/end", response_model=Ack)
def end(session_id: str, call: Caller) -> Response:
    """The conversation is over: what waits for it to be quiet need not wait any longer."""
    with call.lease("write") as lease:
        lease.keep.extraction.ended(session_id)
    return JSONResponse({"status": "ok"})


@router.get("/snapshot/{session_id}", response_model=SnapshotOut, responses={304: {"description": "Unchanged."}})
def snapshot(
    session_id: str,
    call: Caller,
    refresh: Annotated[bool, Query()] = False,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The frozen text for a session's prompt: the same bytes until it is refreshed."""
    with call.lease("read", session=session_id) as lease:
        made = lease.handle.snapshot(refresh=refresh)
    tag = f'"{made.digest}"'
    if if_none_match == tag and not made.stale:
        return Response(status_code=304, headers={"ETag": tag})
    body = {
        "session": made.session,
        "text": made.text,
        "digest": made.digest,
        "ruleset": made.ruleset,
        "created_at": utc_text(made.created_at),
        "stale": made.stale,
        "shows_hearsay": made.shows_hearsay,
    }
    return JSONResponse(body, headers={"ETag": tag})
