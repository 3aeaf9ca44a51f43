"""Sessions as the host sees them: declared, told what they take in, distilled; and the snapshot of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.errors import InvalidRequest, NotAllowed
from truekeep.extract.failure import ModelError
from truekeep.extract.run import Distilled, Taken
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.models import Ack, Body, Moment, Name, VerdictOut
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller
from truekeep.sessions.tools import tool_from
from truekeep.trust import fence
from truekeep.trust.origin import own_member, require
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease

router = resource("/v1", "sessions")
_MOST_TOOLS = 512
"""A declaration is kept with its session and read at every call; agents have tens of tools, servers offer hundreds."""


class Declared(Body):
    """What the host knows of a session."""

    mediated: bool = False
    member: Name | None = Field(default=None, description="For whom it acts: nobody but the token's own member.")
    parent: Name | None = None
    learn: bool = True
    tools: list[dict[str, Any]] = Field(default_factory=list, max_length=_MOST_TOOLS)


class Observed(Body):
    """What a session took in over the token's channel."""

    text: str
    principal: str | None = None
    message: Name | None = None
    role: Name | None = None
    at: Moment | None = None
    attached: list[str] = Field(
        default_factory=list, max_length=100, description="What is somebody else's in it; only the owner's token says."
    )


class ResultBody(Body):
    """What a tool returned, text or JSON."""

    tool: Name
    result: Any = None
    principal: str | None = None


class StateOut(BaseModel):
    """Whether nothing foreign is in a session's context, as far as anybody can know."""

    clean: bool


class ReplyBody(Body):
    """The agent's answer to the owner."""

    text: str


class ReplyOut(BaseModel):
    """The answer that may be shown, and what was taken out of it."""

    text: str
    removed: list[list[str]]


class PlanPrompt(BaseModel):
    """What to ask a model for a plan with; it holds nothing foreign."""

    messages: list[dict[str, str]]


class PlanBody(Body):
    """What the model answered."""

    reply: str


class PlanOut(BaseModel):
    """The calls of the plan that are sound."""

    calls: list[dict[str, Any]]


class ExtractBody(Body):
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
    owners_words: bool
    gist: str
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


class FreezeBody(Body):
    """Whether to freeze a new one, although there is one."""

    refresh: bool = False


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
    with call.lease() as lease:
        own = own_member(lease.keep.channels.get(call.identity.channel))
        if body.member not in (None, own):
            raise NotAllowed("A token declares sessions of its own member only.", code="another_member")
        lease.keep.session(
            session_id,
            mediated=body.mediated,
            member=own,
            parent=body.parent,
            learn=body.learn,
            tools=[tool_from(one) for one in body.tools],
        )
    return JSONResponse({"status": "ok"})


@router.get("/sessions/{session_id}/state", response_model=StateOut)
def state(session_id: str, call: Caller) -> Response:
    """Whether a session is clean. An agent's token may ask, and change nothing about it."""
    with call.lease(session=session_id) as lease:
        return JSONResponse({"clean": lease.handle.is_clean})


@router.post("/sessions/{session_id}/results", status_code=201, response_model=Ack)
def take_result(session_id: str, body: ResultBody, call: Caller) -> Response:
    """Report what a tool returned; what of it taints follows from the tool's declaration. Only a host's token does."""

    def do() -> Response:
        with _host(call, noted=True) as lease:
            lease.keep.observe_result(session_id, body.tool, body.result, principal=body.principal)
        return JSONResponse({"status": "ok"}, 201)

    return call.once(do, lambda _: JSONResponse({"status": "ok"}, 201))


@router.post("/sessions/{session_id}/segment", response_model=Ack)
def segment(session_id: str, call: Caller) -> Response:
    """Start a fresh context: the host has dropped the old one. Only a host's token does."""

    def do() -> Response:
        with _host(call, noted=True) as lease:
            lease.keep.segment(session_id)
        return JSONResponse({"status": "ok"})

    return call.once(do, lambda _: JSONResponse({"status": "ok"}))


@router.post("/sessions/{session_id}/reply", response_model=ReplyOut)
def reply(session_id: str, body: ReplyBody, call: Caller) -> Response:
    """The agent's answer to the owner, without links and images that would carry private values away."""
    with _host(call) as lease:
        shown = lease.keep.check_reply(session_id, body.text)
    return JSONResponse({"text": shown.text, "removed": [list(one) for one in shown.removed]})


@router.get("/sessions/{session_id}/plan", response_model=PlanPrompt)
def plan_prompt(session_id: str, call: Caller) -> Response:
    """What to ask a model for a plan with. Only a host's token sees it."""
    with _host(call) as lease:
        return JSONResponse({"messages": lease.keep.plan_prompt(session_id)})


@router.put("/sessions/{session_id}/plan", response_model=PlanOut)
def take_plan(session_id: str, body: PlanBody, call: Caller) -> Response:
    """Keep what is sound of a model's plan for the owner's last message. Only a host's token does."""

    def do() -> Response:
        with _host(call, noted=True) as lease:
            try:
                entries = lease.keep.take_plan(session_id, body.reply)
            except ModelError as error:
                # Over the wire a broken plan is the caller's body, not a failure of a model of the service's.
                raise InvalidRequest(str(error), code=error.code, hint=error.hint) from error
        calls = [{"id": one.id, "tool": one.tool, "arguments": dict(one.arguments)} for one in entries]
        return JSONResponse({"calls": sanitised_json(calls)})

    return call.once(do)


@contextmanager
def _host(call: Caller, *, noted: bool = False) -> Iterator[Lease]:
    """The keep, for a token that may say what a session took in: no agent's may, so that none washes its own taint."""
    with call.lease(noted=noted) as lease:
        yield lease


@router.post("/sessions/{session_id}/observe", status_code=201, response_model=Ack)
def observe(session_id: str, body: Observed, call: Caller) -> Response:
    """Report what a session took in. These are the owner's words only through the owner's token."""

    def do() -> Response:
        given: dict[str, Any] = body.model_dump(exclude={"text", "attached"}, exclude_none=True)
        with call.lease(noted=True) as lease:
            if body.attached:
                require(lease.keep.channels.get(call.identity.channel), "observe")
                lease.keep.observe(session_id, call.identity.channel, body.text, attached=body.attached, **given)
            else:
                lease.handle.observe(body.text, **given)
        return JSONResponse({"status": "ok"}, 201)

    return call.once(do, lambda _: JSONResponse({"status": "ok"}, 201))


@router.post("/sessions/{session_id}/extract", response_model=Extracted)
def extract(session_id: str, body: ExtractBody, call: Caller) -> Response:
    """Distil a session now: each memory is proved against its messages and goes through the gate."""
    if body.strategy == "custom" or body.prompt is not None:
        call.identity.require("custom-prompts")

    def do() -> Response:
        with call.lease() as lease:
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
        "owners_words": one.is_owners,
        "gist": fence.sanitised(one.gist) if is_shown else "",
        "verdict": one.verdict.as_dict(),
    }


@router.post("/sessions/{session_id}/end", response_model=Ack)
def end(session_id: str, call: Caller) -> Response:
    """The conversation is over: what waits for it to be quiet need not wait any longer."""
    with call.lease() as lease:
        lease.keep.extraction.ended(session_id)
    return JSONResponse({"status": "ok"})


@router.post("/snapshot/{session_id}", response_model=SnapshotOut)
def snapshot(session_id: str, call: Caller, body: FreezeBody | None = None) -> Response:
    """The frozen text for a session's prompt, made if there is none: the same bytes until it is refreshed."""
    with call.lease(session=session_id) as lease:
        made = lease.handle.snapshot(refresh=body is not None and body.refresh)
    shown = {
        "session": made.session,
        "text": made.text,
        "digest": made.digest,
        "ruleset": made.ruleset,
        "created_at": utc_text(made.created_at),
        "stale": made.stale,
        "shows_hearsay": made.shows_hearsay,
    }
    return JSONResponse(shown)
