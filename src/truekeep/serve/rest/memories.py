"""Memories as the library speaks of them: what ``truekeep.client`` calls, so that nothing is lost on the way."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from truekeep.config import BATCH_CAP, LISTING_CAP, NAME_CAP, PAGE_CAP, REASON_CAP
from truekeep.serve.problem import problem_of_verdict
from truekeep.serve.rest.hits import RecallAnswerBody, RecallQuestionBody, answered
from truekeep.serve.rest.long_term import NotHere, own_id, refuse_session, rejected
from truekeep.serve.rest.models import Moment, Name, Stored, Strict, VerdictOut
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller, ServiceCall
from truekeep.types import Decision, Verdict

router = resource("/v1/memories", "memories")


class EntryBody(Strict):
    """A text with what may be passed beside it. None of it grants anything."""

    text: str
    principal: str | None = Field(default=None, description="Who is behind the channel: a URL, a domain or a name.")
    session: Name | None = None
    kind: Literal["semantic", "episodic"] = "semantic"
    topics: list[str] = Field(default_factory=list, max_length=PAGE_CAP)
    entities: list[str] = Field(default_factory=list, max_length=PAGE_CAP)
    metadata: dict[str, Any] | None = None
    as_of: Moment | None = Field(default=None, description="Since when it holds.")
    expires_at: Moment | None = None
    quote: str | None = Field(default=None, description="The words it was drawn from.")
    parents: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)


class Entries(Strict):
    """A batch: all of it is stored or nothing, unless what is rejected is to be skipped."""

    memories: list[EntryBody] = Field(min_length=1, max_length=BATCH_CAP)
    skip_rejected: bool = False


class VersionBody(Strict):
    """Which version to make the newest word again; the last one, if it is left out."""

    version: int | None = Field(default=None, ge=1, le=1 << 40)


class ShownBody(BaseModel):
    """A memory as the library lists it."""

    id: str
    content: str
    blocked: bool
    block_reason: list[str]
    standing: Literal["owner", "enrolled", "hearsay"]
    may_act: bool
    as_of: str
    model_config = ConfigDict(extra="allow")


class Page(BaseModel):
    """Memories in the order in which they were stored."""

    memories: list[ShownBody]


class WithinBody(Strict):
    """The session that is shown something."""

    session: Name


class ListQuestionBody(WithinBody):
    """Which page of the memories it is shown."""

    after: Name | None = None
    limit: int = Field(default=PAGE_CAP, ge=1, le=LISTING_CAP)
    as_of: Moment | None = None


@router.post("", status_code=201, response_model=Stored, responses={202: {"model": Stored}})
def remember(body: Entries, call: Caller) -> Response:
    """Put texts through the gate. 201 stored, 202 some wait for a person, 422 one was rejected and nothing stored."""
    return call.once(lambda: _remember(body, call))


def _remember(body: Entries, call: ServiceCall) -> Response:
    entries = [entry.model_dump(exclude_none=True) for entry in body.memories]
    with call.lease() as lease:
        name = call.request_name([], "")
        verdicts = lease.handle.remember_many(entries, skip_rejected=body.skip_rejected, request=name)
    for verdict in verdicts:
        call.service.metrics.count("truekeep_verdicts_total", decision=verdict.decision.value)
    listed = [verdict.as_dict() for verdict in verdicts]
    refused = rejected(verdicts)
    if refused and not body.skip_rejected:
        return problem_of_verdict(refused, memories=listed)
    held = any(verdict.decision is Decision.QUARANTINE for verdict in verdicts)
    return JSONResponse({"status": "quarantined" if held else "ok", "memories": listed}, 202 if held else 201)


@router.get("", response_model=Page)
def list_memories(
    call: Caller,
    after: Annotated[str | None, Query(max_length=NAME_CAP, description="The last memory of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=LISTING_CAP)] = PAGE_CAP,
    as_of: Annotated[Moment | None, Query(description="What held at another moment.")] = None,
    session: NotHere = None,
) -> Response:
    """Memories in the order in which they were stored; blocked ones as placeholders."""
    refuse_session(session)
    with call.lease() as lease:
        page = lease.handle.get_memories(after=after, limit=limit, as_of=as_of)
    return JSONResponse({"memories": page})


@router.post("/list", response_model=Page)
def list_within(body: ListQuestionBody, call: Caller) -> Response:
    """The same within a session: what a session is shown is noted, and hearsay taints it."""
    with call.lease(session=body.session) as lease:
        page = lease.handle.get_memories(after=body.after, limit=body.limit, as_of=body.as_of)
    return JSONResponse({"memories": page})


@router.post("/recall", response_model=RecallAnswerBody)
def recall(body: RecallQuestionBody, call: Caller) -> Response:
    """The memories that answer a query, best first: just ``k`` of them, of which hearsay takes at most its share."""
    with call.lease(session=body.session) as lease:
        return JSONResponse(answered(lease, body))


@router.get("/{memory_id}", response_model=ShownBody)
def read(memory_id: str, call: Caller, session: NotHere = None) -> Response:
    """One memory, with how often it was shown."""
    refuse_session(session)
    with call.lease() as lease:
        return JSONResponse(lease.handle.get_memory(own_id(lease, call, memory_id)))


@router.post("/{memory_id}/show", response_model=ShownBody)
def show(memory_id: str, body: WithinBody, call: Caller) -> Response:
    """The same within a session: what a session is shown is noted, and hearsay taints it."""
    with call.lease(session=body.session) as lease:
        return JSONResponse(lease.handle.get_memory(own_id(lease, call, memory_id)))


@router.put("/{memory_id}", response_model=VerdictOut, responses={202: {"model": VerdictOut}})
def change(memory_id: str, body: EntryBody, call: Caller) -> Response:
    """Give a memory new content as a whole; whatever is not accepted leaves the old entry as it was."""

    def do() -> Response:
        fields = body.model_dump(exclude_none=True, exclude={"session"})
        with call.lease(session=body.session, noted=True) as lease:
            return _answer(lease.handle.update_memory(own_id(lease, call, memory_id), **fields))

    return call.once(do, _again)


@router.delete("/{memory_id}", response_model=VerdictOut, responses={202: {"model": VerdictOut}})
def delete(memory_id: str, call: Caller, reason: Annotated[str, Query(max_length=REASON_CAP)] = "") -> Response:
    """Forget a memory. What an agent wants deleted waits for a person: 202."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            own = own_id(lease, call, memory_id)
            return _answer(lease.keep.delete_memory(own, via=call.identity.channel, reason=reason))

    return call.once(do, _again)


@router.post("/{memory_id}/restore", response_model=VerdictOut, responses={202: {"model": VerdictOut}})
def restore(memory_id: str, body: VersionBody, call: Caller) -> Response:
    """Make a memory, or an earlier version of it, the newest word again. Only people do."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            return _answer(lease.keep.restore(memory_id, via=call.identity.channel, version=body.version))

    return call.once(do, _again)


@router.get("/pins/proposed", response_model=Page)
def proposed_pins(call: Caller, most: Annotated[int, Query(ge=1, le=PAGE_CAP)] = 20) -> Response:
    """The owner's words that seem to say what a prompt must not miss, and are not pinned yet."""
    with call.lease() as lease:
        return JSONResponse({"memories": lease.keep.proposed_pins(most)})


@router.put("/{memory_id}/pin", response_model=VerdictOut)
def pin(memory_id: str, call: Caller) -> Response:
    """Put a memory first in every prompt, from the next snapshot on. Only who may confirm does."""
    return _pinned(memory_id, call, is_pinned=True)


@router.delete("/{memory_id}/pin", response_model=VerdictOut)
def unpin(memory_id: str, call: Caller) -> Response:
    """Take a memory's pin away again."""
    return _pinned(memory_id, call, is_pinned=False)


def _pinned(memory_id: str, call: ServiceCall, *, is_pinned: bool) -> Response:
    def do() -> Response:
        with call.lease(noted=True) as lease:
            change = lease.keep.pin if is_pinned else lease.keep.unpin
            return _answer(change(own_id(lease, call, memory_id), via=call.identity.channel))

    return call.once(do, _again)


@router.get("/{memory_id}/history", response_model=Page)
def history(memory_id: str, call: Caller) -> Response:
    """The versions of one memory, oldest first, also of one that was deleted: for an administrator."""
    with call.lease() as lease:
        return JSONResponse({"memories": lease.keep.history(memory_id)})


def _again(verdicts: tuple[Verdict, ...]) -> Response:
    return _answer(verdicts[0])


def _answer(verdict: Verdict) -> Response:
    if verdict.decision is Decision.REJECT:
        return problem_of_verdict(verdict)
    return JSONResponse(verdict.as_dict(), 200 if verdict.accepted else 202)
