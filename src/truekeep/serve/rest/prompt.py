"""The memory prompt: a session's messages and the memories that answer a query, ready for a model.

Memories come as background data inside the fence, in a message of the user's. There is no system message, whatever
roles were sent: nothing that is remembered speaks with the operator's authority.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.config import QUERY_CAP
from truekeep.extract.conversation import Message
from truekeep.serve.rest.models import Body, HitBody, Name, Switch
from truekeep.serve.rest.records import hit_of
from truekeep.serve.rest.routes import resource
from truekeep.serve.rest.search import Search, recalled
from truekeep.serve.rest.talk import owner_channels
from truekeep.serve.service import Caller
from truekeep.trust import fence
from truekeep.trust.origin import AGENT
from truekeep.types import Recalled

if TYPE_CHECKING:
    from truekeep.extract.working import Window, WorkingMemory
    from truekeep.serve.pool import Lease

router = resource("", "memory prompt")


class SessionIn(Body):
    """The session whose messages go before the query."""

    session_id: Name
    user_id: Name | None = None
    namespace: Name | None = None
    model_name: Name | None = None
    context_window_max: int | None = Field(default=None, ge=1, le=10_000_000)


class PromptIn(Body):
    """A query, perhaps in a session, perhaps with a search for memories."""

    query: str = Field(max_length=QUERY_CAP)
    session: SessionIn | None = None
    long_term_search: Search | bool | None = None


class TextContent(BaseModel):
    """The words of a message."""

    type: str = "text"
    text: str


class PromptMessage(BaseModel):
    """One message; its role is ``user`` or ``assistant``."""

    role: str
    content: TextContent


class PromptOut(BaseModel):
    """The messages, and the memories behind them."""

    messages: list[PromptMessage]
    long_term_memories: list[HitBody]


@router.post("/v1/memory/prompt", response_model=PromptOut)
def memory_prompt(body: PromptIn, call: Caller, optimize_query: Annotated[Switch, Query()] = False) -> Response:
    """What to put before a model: the session so far, what is remembered about the query, and the query."""
    del optimize_query
    session = body.session.session_id if body.session else None
    with call.lease(session=session) as lease:
        said = _said(lease, session) if session else []
        hits = _hits(lease, body)
    remembered = [_message("user", _fenced(hits))] if hits else []
    messages = [*said, *remembered, _message("user", body.query)]
    return JSONResponse({"messages": messages, "long_term_memories": [hit_of(hit) for hit in hits]})


def _hits(lease: Lease, body: PromptIn) -> list[Recalled]:
    wish = body.long_term_search
    if wish is None or wish is False or not body.query.strip():
        return []
    search = (wish if isinstance(wish, Search) else Search()).model_copy(update={"text": body.query})
    return list(recalled(lease, search))[search.offset : search.offset + search.limit]


def _fenced(hits: list[Recalled]) -> str:
    return fence.fenced([_line(hit) for hit in hits])


def _line(hit: Recalled) -> str:
    older = hit.newer is not None
    return fence.line(hit.text, as_of=hit.as_of, origin=_origin(hit), may_act=hit.may_act, older=older)


def _origin(hit: Recalled) -> str:
    origin = hit.memory.origin
    return f"{origin.channel} {origin.principal}" if origin.principal else origin.channel


def _said(lease: Lease, session: str) -> list[dict[str, Any]]:
    window = lease.keep.working.window(session)
    found = lease.keep.working.get(session)
    before = [_message("user", fence.fenced(lines))] if (lines := list(_before(found, window))) else []
    owners = owner_channels(lease)
    return before + [_turn(message, owners) for message in window.messages]


def _before(found: WorkingMemory | None, window: Window) -> Iterator[str]:
    """A session's context, and what fell out of its window, each as a line of the fence with its own marker."""
    if found is not None and found.context:
        yield fence.line(found.context, as_of=found.updated_at, origin=found.via, may_act=False)
    if found is not None and window.summary:
        yield fence.line(window.summary, as_of=found.updated_at, origin="summary", may_act=False)


def _turn(message: Message, owners: frozenset[str]) -> dict[str, Any]:
    """A message of the conversation. What was merely read is inside the fence, as memories are.

    So is what came with an agent's token as the user's words: only the owner's token says what the owner said.
    """
    if message.channel == AGENT and message.role != "user":
        return _message("assistant", fence.sanitised(message.text))
    if message.channel in owners:
        return _message("user", fence.sanitised(message.text))
    line = fence.line(message.text, as_of=message.at, origin=message.channel, may_act=False)
    return _message("user", fence.fenced([line]))


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": text}}
