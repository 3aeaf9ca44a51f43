"""Memories as the library speaks of them: what ``truekeep.client`` calls, so that nothing is lost on the way."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from truekeep.serve.problem import problem_of_verdict
from truekeep.serve.rest.long_term import own_id, rejected, require_deleting
from truekeep.serve.rest.models import Hit, Moment, Name, Stored, VerdictOut
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.service import Call, Caller
from truekeep.types import Decision, Verdict

router = APIRouter(prefix="/v1/memories", tags=["memories"], responses=refusals())

Session = Annotated[str | None, Query(max_length=200)]
_MOST = 100_000


class Strict(BaseModel):
    """A body in which a member that nobody knows is a mistake."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Entry(Strict):
    """A text with what may be passed beside it. None of it grants anything."""

    text: str
    principal: str | None = Field(default=None, description="Who is behind the channel: a URL, a domain or a name.")
    session: Name | None = None
    kind: Literal["semantic", "episodic"] = "semantic"
    topics: list[str] = Field(default_factory=list, max_length=1_000)
    entities: list[str] = Field(default_factory=list, max_length=1_000)
    metadata: dict[str, Any] | None = None
    as_of: Moment | None = Field(default=None, description="Since when it holds.")
    expires_at: Moment | None = None
    quote: str | None = Field(default=None, description="The words it was drawn from.")
    parents: list[Name] = Field(default_factory=list, max_length=1_000)


class Entries(Strict):
    """A batch: all of it is stored or nothing, unless what is rejected is to be skipped."""

    memories: list[Entry] = Field(min_length=1, max_length=10_000)
    skip_rejected: bool = False


class Version(Strict):
    """Which version to make the newest word again; the last one, if it is left out."""

    version: int | None = Field(default=None, ge=1)


class Shown(BaseModel):
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

    memories: list[Shown]


class Limits(Strict):
    """What an answer is limited to; an empty list limits nothing. Filters are never relaxed."""

    kinds: list[Name] = Field(default_factory=list, max_length=1_000)
    topics: list[Name] = Field(default_factory=list, max_length=1_000)
    entities: list[Name] = Field(default_factory=list, max_length=1_000)
    channels: list[Name] = Field(default_factory=list, max_length=1_000)
    since: Moment | None = None
    until: Moment | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Question(Strict):
    """A question to the memories."""

    query: str
    k: int = 5
    influence_only: bool = Field(default=False, description="Only what may drive an action.")
    min_score: float | None = None
    half_life_days: float | None = None
    as_of: Moment | None = Field(default=None, description="How things stood at another moment.")
    filters: Limits | None = None
    explain: bool = False
    session: Name | None = Field(default=None, description="The session that is shown the answer.")


class Recalled(Hit):
    """A memory that answers, with everything the library says of it."""

    verified: bool
    explain: dict[str, float]


class Answer(BaseModel):
    """What answers, best first, and how much was withheld for which reason."""

    hits: list[Recalled]
    withheld: dict[str, int]
    degraded: str


@router.post("", status_code=201, response_model=Stored, responses={202: {"model": Stored}})
def remember(body: Entries, call: Caller) -> Response:
    """Put texts through the gate. 201 stored, 202 some wait for a person, 422 one was rejected and nothing stored."""
    return call.once(lambda: _remember(body, call))


def _remember(body: Entries, call: Call) -> Response:
    entries = [entry.model_dump(exclude_none=True) for entry in body.memories]
    with call.lease("write") as lease:
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
    after: Annotated[str | None, Query(max_length=200, description="The last memory of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = 1_000,
    session: Session = None,
    as_of: Annotated[Moment | None, Query(description="What held at another moment.")] = None,
) -> Response:
    """Memories in the order in which they were stored; blocked ones as placeholders."""
    with call.lease("read", session=session) as lease:
        page = lease.handle.get_memories(after=after, limit=limit, as_of=as_of)
    return JSONResponse({"memories": page})


@router.post("/recall", response_model=Answer)
def recall(body: Question, call: Caller) -> Response:
    """The memories that answer a query, best first: just ``k`` of them, of which hearsay takes at most its share."""
    from truekeep.serve.rest.hits import answered  # noqa: PLC0415 - only this resource answers so

    with call.lease("read", session=body.session) as lease:
        return JSONResponse(answered(lease, body))


@router.get("/{memory_id}", response_model=Shown)
def read(memory_id: str, call: Caller, session: Session = None) -> Response:
    """One memory, with how often it was shown."""
    with call.lease("read", session=session) as lease:
        return JSONResponse(lease.handle.get_memory(own_id(lease, call, memory_id)))


@router.put("/{memory_id}", response_model=VerdictOut, responses={202: {"model": VerdictOut}})
def change(memory_id: str, body: Entry, call: Caller) -> Response:
    """Give a memory new content as a whole; whatever is not accepted leaves the old entry as it was."""

    def do() -> Response:
        fields = body.model_dump(exclude_none=True, exclude={"session"})
        with call.lease("write", session=body.session, noted=True) as lease:
            return _answer(lease.handle.update_memory(own_id(lease, call, memory_id), **fields))

    return call.once(do, _again)


@router.delete("/{memory_id}", response_model=VerdictOut, responses={202: {"model": VerdictOut}})
def delete(memory_id: str, call: Caller, reason: Annotated[str, Query(max_length=2_000)] = "") -> Response:
    """Forget a memory. What an agent wants deleted waits for a person: 202."""

    def do() -> Response:
        with call.open(noted=True) as lease:
            require_deleting(call, lease)
            own = own_id(lease, call, memory_id)
            return _answer(lease.keep.delete_memory(own, via=call.identity.channel, reason=reason))

    return call.once(do, _again)


@router.post("/{memory_id}/restore", response_model=VerdictOut, responses={202: {"model": VerdictOut}})
def restore(memory_id: str, body: Version, call: Caller) -> Response:
    """Make a memory, or an earlier version of it, the newest word again. Only people do."""

    def do() -> Response:
        with call.lease("delete", noted=True) as lease:
            return _answer(lease.keep.restore(memory_id, via=call.identity.channel, version=body.version))

    return call.once(do, _again)


@router.get("/{memory_id}/history", response_model=Page)
def history(memory_id: str, call: Caller) -> Response:
    """The versions of one memory, oldest first, also of one that was deleted: for an administrator."""
    with call.lease("admin") as lease:
        return JSONResponse({"memories": lease.keep.history(memory_id)})


def _again(verdicts: tuple[Verdict, ...]) -> Response:
    return _answer(verdicts[0])


def _answer(verdict: Verdict) -> Response:
    if verdict.decision is Decision.REJECT:
        return problem_of_verdict(verdict)
    return JSONResponse(verdict.as_dict(), 200 if verdict.accepted else 202)
