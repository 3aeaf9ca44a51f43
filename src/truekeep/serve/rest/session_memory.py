"""Working memory as the library has it: what ``truekeep.client`` calls, each message over the token's own channel."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.config import PAGE_CAP
from truekeep.errors import UnknownId
from truekeep.extract.conversation import Message
from truekeep.extract.working import WorkingMemory
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.models import Ack, Moment, Name, PageSize, Strict
from truekeep.serve.rest.routes import resource
from truekeep.serve.rest.talk import OWN
from truekeep.serve.service import Caller
from truekeep.trust import fence
from truekeep.types import utc_text

router = resource("/v1/sessions", "sessions")
_LONGEST_SECONDS = 3_650 * 86_400.0


class ChangeBody(Strict):
    """What to set; the rest stays as it is."""

    data: dict[str, Any] | None = None
    context: str | None = None
    speaker: Name | None = Field(default=None, description="What the owner is called; only the owner's token says so.")
    ttl_seconds: float | None = Field(default=None, gt=0, le=_LONGEST_SECONDS)
    token_budget: int | None = Field(default=None, ge=1, le=10_000_000)


class Said(Strict):
    """A message over the token's channel."""

    text: str
    id: Name | None = None
    at: Moment | None = None
    role: Name = ""
    principal: str | None = Field(default=None, max_length=2_000)
    is_dated: bool = True


class Messages(Strict):
    """Messages in order. One that is there already by id, channel and text is not added again."""

    messages: list[Said] = Field(min_length=1, max_length=PAGE_CAP)


class SessionMessageOut(BaseModel):
    """A message as it is shown."""

    id: str
    channel: str
    text: str
    at: str
    role: str
    principal: str | None
    is_dated: bool
    alias: str


class SessionOut(BaseModel):
    """A session with what it holds; to a token that may only write, nothing of it."""

    session: str
    created_at: str
    updated_at: str
    messages: list[SessionMessageOut]
    data: dict[str, Any]
    context: str
    via: str
    speaker: str | None
    ttl_seconds: float | None
    token_budget: int | None


class WindowOut(BaseModel):
    """What of a session fits its token budget, and a summary of the rest."""

    messages: list[SessionMessageOut]
    summary: str
    summarised: list[str]
    channels: list[str]


class SessionsBody(BaseModel):
    """A page of sessions' names."""

    sessions: list[str]
    total: int


@router.get("", response_model=SessionsBody)
def list_sessions(
    call: Caller,
    limit: PageSize = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """The sessions that were put or appended to, in the order in which they began."""
    with call.lease() as lease:
        names = lease.keep.working.list()
    return JSONResponse({"sessions": names[offset : offset + limit], "total": len(names)})


@router.get("/{session_id}/memory", response_model=SessionOut)
def read(session_id: str, call: Caller) -> Response:
    """A session with its messages, data and context."""
    with call.lease() as lease:
        found = lease.keep.working.get(session_id)
    if found is None:
        raise UnknownId("No such session in this keep.", code="unknown_session")
    return JSONResponse(_shown(found))


@router.put("/{session_id}/memory", response_model=SessionOut)
def change(session_id: str, body: ChangeBody, call: Caller) -> Response:
    """Set data, context, life span or budget; data and context are screened like anything that is written."""

    def do() -> Response:
        given = body.model_dump(exclude={"ttl_seconds"})
        ttl = timedelta(seconds=body.ttl_seconds) if body.ttl_seconds is not None else None
        with call.lease() as lease:
            if body.data is not None:  # what other clients go by is not theirs to change
                known = lease.keep.working.get(session_id)
                noted = {OWN: known.data[OWN]} if known is not None and OWN in known.data else {}
                given["data"] = {name: value for name, value in body.data.items() if name != OWN} | noted
            after = lease.keep.working.put(session_id, via=call.identity.channel, ttl=ttl, **given)
            return _answer(after, may_read=call.may(lease, "read"))

    return call.once(do)


@router.post("/{session_id}/messages", status_code=201, response_model=SessionOut)
def append(session_id: str, body: Messages, call: Caller) -> Response:
    """Add messages. They are the owner's words only through the owner's token."""

    def do() -> Response:
        now, channel = datetime.now(UTC), call.identity.channel
        with call.lease() as lease:
            ids = [one.id or call.new_id("message", at) for at, one in enumerate(body.messages)]
            messages = [_message(one, own, channel, now) for own, one in zip(ids, body.messages, strict=True)]
            after = lease.keep.working.append(session_id, *messages)
            return _answer(after, may_read=call.may(lease, "read"), status=201)

    return call.once(do)


@router.get("/{session_id}/window", response_model=WindowOut)
def window(session_id: str, call: Caller) -> Response:
    """What of the session fits its token budget; the overflow is summed up by the owner's own words."""
    with call.lease() as lease:
        seen = lease.keep.working.window(session_id)
    return JSONResponse(
        {
            "messages": [_message_out(one) for one in seen.messages],
            "summary": fence.sanitised(seen.summary),
            "summarised": list(seen.summarised),
            "channels": sorted(seen.channels),
        }
    )


@router.delete("/{session_id}/memory", response_model=Ack)
def let_go(session_id: str, call: Caller) -> Response:
    """Let a session go, with everything that was said and read in it. Only who may delete does."""

    def do() -> Response:
        with call.lease() as lease:
            gone = lease.keep.working.delete(session_id)
        return JSONResponse({"status": "ok" if gone else "nothing there"})

    return call.once(do)


def _message(said: Said, own_id: str, channel: str, now: datetime) -> Message:
    given = said.model_dump(exclude={"id", "at"})
    return Message(id=own_id, channel=channel, at=said.at or now, **given)


def _answer(memory: WorkingMemory, *, may_read: bool, status: int = 200) -> Response:

    blank = WorkingMemory(memory.session, memory.created_at, memory.updated_at)
    return JSONResponse(_shown(memory if may_read else blank), status)


def _shown(memory: WorkingMemory) -> dict[str, Any]:
    return {
        "session": memory.session,
        "created_at": utc_text(memory.created_at),
        "updated_at": utc_text(memory.updated_at),
        "messages": [_message_out(one) for one in memory.messages],
        "data": sanitised_json({name: value for name, value in memory.data.items() if name != OWN}),
        "context": fence.sanitised(memory.context),
        "via": memory.via,
        "speaker": sanitised_json(memory.speaker),
        "ttl_seconds": memory.ttl.total_seconds() if memory.ttl else None,
        "token_budget": memory.token_budget,
    }


def _message_out(message: Message) -> dict[str, Any]:
    return {
        "id": sanitised_json(message.id),
        "channel": message.channel,
        "text": fence.sanitised(message.text),
        "at": utc_text(message.at),
        "role": fence.one_line(message.role),
        "principal": sanitised_json(message.principal),
        "is_dated": message.is_dated,
        "alias": sanitised_json(message.alias),
    }
