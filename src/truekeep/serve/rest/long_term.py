"""Long-term memory: create, list, read, change and delete memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse, Response

from truekeep.errors import InvalidRequest
from truekeep.serve.problem import problem_of_verdict
from truekeep.serve.replays import digest
from truekeep.serve.rest.models import (
    Ack,
    EditBody,
    ListingBody,
    MaybeName,
    NewMemories,
    NewMemory,
    PageSize,
    RecordBody,
    Stored,
)
from truekeep.serve.rest.paging import cursor_of, next_link, place_of
from truekeep.serve.rest.records import edited, entry_of, record_of, verdict_of
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller, ServiceCall
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease

router = resource("/v1/long-term-memory", "long-term memory")
NotHere = Annotated[str | None, Query(max_length=200, description="Refused: reading within a session is a POST.")]


@router.post("/", status_code=201, response_model=Stored, responses={202: {"model": Stored}})
@router.post("", status_code=201, include_in_schema=False)
def create(body: NewMemories, call: Caller) -> Response:
    """Store memories: all of them, or none. 201 stored, 202 some wait for a person, 422 one was rejected."""
    return call.once(lambda: _create(body.memories, call))


def _create(memories: list[NewMemory], call: ServiceCall) -> Response:
    with call.lease() as lease:
        verdicts = remembered(lease, call, memories)
    if refused := rejected(verdicts):
        return problem_of_verdict(refused)
    held = any(not verdict.accepted for verdict in verdicts)
    listed = [verdict_of(verdict, memory) for verdict, memory in zip(verdicts, memories, strict=True)]
    return JSONResponse({"status": "quarantined" if held else "ok", "memories": listed}, 202 if held else 201)


def remembered(lease: Lease, call: ServiceCall, memories: list[NewMemory]) -> list[Verdict]:
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


@router.get("/", response_model=ListingBody)
def list_memories(
    request: Request,
    call: Caller,
    limit: PageSize = 100,
    cursor: MaybeName = None,
    session_id: NotHere = None,
) -> Response:
    """Memories in the order in which they were stored, a page at a time."""
    refuse_session(session_id)
    after = place_of(cursor) if cursor is not None else None
    if after is not None and not isinstance(after, str):
        raise InvalidRequest("The cursor cannot be used.", code="invalid_cursor")
    with call.lease() as lease:
        page = lease.handle.get_memories(after=after, limit=limit)
    on = cursor_of(page[-1]["id"]) if len(page) == limit else None
    listed = [record_of(shown) for shown in page]
    return JSONResponse({"memories": listed, "next_cursor": on}, headers=next_link(request, on))


@router.get("/{memory_id}", response_model=RecordBody)
def read(memory_id: str, call: Caller, session_id: NotHere = None) -> Response:
    """One memory, by its id or by the id its writer gave it."""
    refuse_session(session_id)
    with call.lease() as lease:
        return JSONResponse(record_of(lease.handle.get_memory(own_id(lease, call, memory_id))))


@router.patch("/{memory_id}", response_model=RecordBody, responses={202: {"model": RecordBody}})
def change(memory_id: str, body: EditBody, call: Caller) -> Response:
    """Give a memory new content. What is not accepted leaves it as it was: 202 waits for a person."""
    return call.once(lambda: _change(memory_id, body, call), lambda done: _changed(memory_id, call, done[0]))


def _changed(memory_id: str, call: ServiceCall, verdict: Verdict) -> Response:
    with call.lease() as lease:
        now = record_of(lease.handle.get_memory(own_id(lease, call, memory_id)))
    return JSONResponse({**verdict_of(verdict), **now}, 200 if verdict.accepted else 202)


def _change(memory_id: str, body: EditBody, call: ServiceCall) -> Response:
    with call.lease(session=body.session_id) as lease:
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


def _delete(memory_ids: list[str], call: ServiceCall) -> Response:
    with call.lease() as lease:
        own = list(dict.fromkeys(own_id(lease, call, memory_id) for memory_id in memory_ids))
        for memory_id in own:
            lease.keep.get_memory(memory_id)  # one that is not there, and nothing is deleted
        verdicts = [lease.handle.delete_memory(memory_id) for memory_id in own]
    held = [verdict for verdict in verdicts if not verdict.accepted]
    status = f"ok, deleted {len(verdicts) - len(held)} memories" if not held else "quarantined"
    listed = [verdict_of(verdict) for verdict in verdicts]
    return JSONResponse({"status": status, "memories": listed}, 202 if held else 200)


def refuse_session(named: str | None) -> None:
    """What a session is shown is noted and may taint it, and a GET changes nothing."""
    if named is not None:
        raise InvalidRequest(
            "A GET is not read within a session.",
            code="session_in_get",
            hint="Send POST /v1/memories/list, /v1/memories/recall or /v1/memories/ID/show with the session.",
        )


def own_id(lease: Lease, call: ServiceCall, named: str) -> str:
    """The keep's own id of what a client calls by that name."""
    return call.service.aliases.memory_id(lease.keep, call.identity.channel, named)


def acknowledged(verdict: Verdict) -> dict[str, Any]:
    """A single verdict as an acknowledgement."""
    return {"status": "ok" if verdict.accepted else "quarantined", **verdict_of(verdict)}
