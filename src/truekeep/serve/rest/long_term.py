"""Long-term memory: create, list, read, change and delete memories."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from truekeep.errors import InvalidRequest
from truekeep.serve.pool import Lease
from truekeep.serve.problem import problem_of_verdict
from truekeep.serve.replays import digest
from truekeep.serve.rest.models import Ack, Edit, Listing, NewMemories, NewMemory, Record, Stored
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.rest.paging import cursor_of, next_link, place_of
from truekeep.serve.rest.records import edited, entry_of, record_of, verdict_of
from truekeep.serve.service import Call, Caller
from truekeep.types import Decision, Verdict

router = APIRouter(prefix="/v1/long-term-memory", tags=["long-term memory"], responses=refusals())


@router.post("/", status_code=201, response_model=Stored, responses={202: {"model": Stored}})
@router.post("", status_code=201, include_in_schema=False)
def create(body: NewMemories, call: Caller) -> Response:
    """Store memories: all of them, or none. 201 stored, 202 some wait for a person, 422 one was rejected."""
    return call.once(lambda: _create(body.memories, call))


def _create(memories: list[NewMemory], call: Call) -> Response:
    with call.lease("write") as lease:
        verdicts = remembered(lease, call, memories)
    if refused := rejected(verdicts):
        return problem_of_verdict(refused)
    held = any(not verdict.accepted for verdict in verdicts)
    listed = [verdict_of(verdict, memory) for verdict, memory in zip(verdicts, memories, strict=True)]
    return JSONResponse({"status": "quarantined" if held else "ok", "memories": listed}, 202 if held else 201)


def remembered(lease: Lease, call: Call, memories: list[NewMemory]) -> list[Verdict]:
    """Put a client's batch through the gate over the token's channel. A batch that was stored is not stored again."""
    entries = [entry_of(memory) for memory in memories]
    content = digest(*(repr(memory) for memory in memories))
    name = call.request_name([memory.id for memory in memories], content)
    verdicts = lease.handle.remember_many(entries, request=name)
    for verdict in verdicts:
        call.service.metrics.count("truekeep_verdicts_total", decision=verdict.decision.value)
    return verdicts


def rejected(verdicts: list[Verdict]) -> Verdict | None:
    """The rejection that kept a batch out: one that was found something in, before those that fell with it."""
    refused = [verdict for verdict in verdicts if verdict.decision is Decision.REJECT]
    return next((verdict for verdict in refused if verdict.findings), refused[0]) if refused else None


@router.get("/", response_model=Listing)
def list_memories(
    request: Request,
    call: Caller,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    session_id: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Memories in the order in which they were stored, a page at a time."""
    after = place_of(cursor) if cursor is not None else None
    if after is not None and not isinstance(after, str):
        raise InvalidRequest("The cursor cannot be used.", code="invalid_cursor")
    with call.lease("read", session=session_id) as lease:
        page = lease.handle.get_memories(after=after, limit=limit)
    on = cursor_of(page[-1]["id"]) if len(page) == limit else None
    listed = [record_of(shown) for shown in page]
    return JSONResponse({"memories": listed, "next_cursor": on}, headers=next_link(request, on))


@router.get("/{memory_id}", response_model=Record)
def read(memory_id: str, call: Caller, session_id: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """One memory, by its id or by the id its writer gave it."""
    with call.lease("read", session=session_id) as lease:
        return JSONResponse(record_of(lease.handle.get_memory(own_id(lease, call, memory_id))))


@router.patch("/{memory_id}", response_model=Record, responses={202: {"model": Record}})
def change(memory_id: str, body: Edit, call: Caller) -> Response:
    """Give a memory new content. What is not accepted leaves it as it was: 202 waits for a person."""
    return call.once(lambda: _change(memory_id, body, call), lambda done: _changed(memory_id, call, done[0]))


def _changed(memory_id: str, call: Call, verdict: Verdict) -> Response:
    with call.lease("read") as lease:
        now = record_of(lease.handle.get_memory(own_id(lease, call, memory_id)))
    return JSONResponse({**verdict_of(verdict), **now}, 200 if verdict.accepted else 202)


def _change(memory_id: str, body: Edit, call: Call) -> Response:
    call.identity.require("read")
    with call.lease("write", session=body.session_id) as lease:
        own = own_id(lease, call, memory_id)
        shown = lease.handle.get_memory(own)
        if shown["blocked"] and body.text is None:
            raise InvalidRequest("The memory is blocked; give it another text.", code="memory_blocked")
        text, fields = edited(shown, body)
        with call.noting(lease):
            verdict = lease.handle.update_memory(own, text, **fields)
        if verdict.decision is Decision.REJECT:
            return problem_of_verdict(verdict)
        now = record_of(lease.handle.get_memory(own))
    return JSONResponse({**verdict_of(verdict), **now}, 200 if verdict.accepted else 202)


@router.delete("", response_model=Ack, responses={202: {"model": Ack}})
@router.delete("/", include_in_schema=False)
def delete(call: Caller, memory_ids: Annotated[list[str], Query(min_length=1, max_length=500)]) -> Response:
    """Delete memories. What an agent wants deleted waits for a person: 202."""
    return call.once(lambda: _delete(memory_ids, call))


def _delete(memory_ids: list[str], call: Call) -> Response:
    with call.open() as lease:
        require_deleting(call, lease)
        own = list(dict.fromkeys(own_id(lease, call, memory_id) for memory_id in memory_ids))
        for memory_id in own:
            lease.keep.get_memory(memory_id)  # one that is not there, and nothing is deleted
        verdicts = [lease.handle.delete_memory(memory_id) for memory_id in own]
    held = [verdict for verdict in verdicts if not verdict.accepted]
    status = f"ok, deleted {len(verdicts) - len(held)} memories" if not held else "quarantined"
    listed = [verdict_of(verdict) for verdict in verdicts]
    return JSONResponse({"status": status, "memories": listed}, 202 if held else 200)


def require_deleting(call: Call, lease: Lease) -> None:
    """Who deletes needs that capability; a writer whose channel can only propose a deletion needs no more for that."""
    channel = lease.keep.channels.get(call.identity.channel)
    call.identity.require("delete" if channel.may("delete") or not call.identity.may("write") else "write")


def own_id(lease: Lease, call: Call, named: str) -> str:
    """The keep's own id of what a client calls by that name."""
    return call.service.aliases.memory_id(lease.keep, call.identity.channel, named)


def acknowledged(verdict: Verdict) -> dict[str, Any]:
    """A single verdict as an acknowledgement."""
    return {"status": "ok" if verdict.accepted else "quarantined", **verdict_of(verdict)}
