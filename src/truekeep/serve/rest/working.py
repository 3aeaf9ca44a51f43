"""Working memory: what a session holds. Messages are the owner's only through the owner's own token.

What a session took in stays in it until the session is let go of: a PUT adds messages and never takes one away.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse, Response

from truekeep.errors import UnknownId
from truekeep.serve.problem import problem_of_verdict
from truekeep.serve.rest.long_term import rejected
from truekeep.serve.rest.models import Ack, MaybeName, PageSize
from truekeep.serve.rest.routes import resource
from truekeep.serve.rest.talk import SessionList, WorkingIn, WorkingOut, attributes, session_of, take_in, unread
from truekeep.serve.service import Caller, ServiceCall

router = resource("/v1/working-memory", "working memory")
_Named = MaybeName
_Window = Annotated[int | None, Query(ge=1, le=10_000_000)]


@router.get("/", response_model=SessionList)
def list_sessions(
    call: Caller,
    limit: PageSize = 20,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    namespace: _Named = None,
    user_id: _Named = None,
) -> Response:
    """The sessions that are there, in the order in which they began."""
    with call.lease() as lease:
        names = lease.keep.working.list()
        if namespace is not None or user_id is not None:
            wanted = {"namespace": namespace, "user_id": user_id}
            names = [name for name in names if attributes(lease.keep.working.get(name)).matches(wanted)]
    return JSONResponse({"sessions": names[offset : offset + limit], "total": len(names)})


@router.get("/{session_id}", response_model=WorkingOut)
def read(
    session_id: str,
    call: Caller,
    namespace: _Named = None,
    user_id: _Named = None,
    model_name: _Named = None,
    context_window_max: _Window = None,
) -> Response:
    """One session with its messages, its data and the memories that were put into it."""
    del model_name, context_window_max
    with call.lease() as lease:
        body = session_of(lease, session_id)
    if body is None or not _is_theirs(body, namespace, user_id):
        raise UnknownId("No such session in this keep.", code="unknown_session")
    return JSONResponse(body)


@router.put("/{session_id}", response_model=WorkingOut, responses={202: {"model": WorkingOut}})
def put(
    session_id: str,
    body: WorkingIn,
    call: Caller,
    user_id: _Named = None,
    model_name: _Named = None,
    context_window_max: _Window = None,
) -> Response:
    """Add messages, data and memories to a session. 202 if a memory waits for a person, 422 if one was rejected."""
    del model_name
    named = body.model_copy(update={"user_id": user_id or body.user_id})
    return call.once(lambda: _put(session_id, named, call, context_window_max))


@router.post("/", response_model=WorkingOut, responses={202: {"model": WorkingOut}})
@router.post("", include_in_schema=False)
def post(body: WorkingIn, call: Caller) -> Response:
    """The same, with the session's id in the body."""
    if body.session_id is None:
        raise UnknownId("The body names no session.", code="unknown_session")
    session_id = body.session_id
    return call.once(lambda: _put(session_id, body, call, None))


@router.delete("/{session_id}", response_model=Ack)
def delete(session_id: str, call: Caller, namespace: _Named = None, user_id: _Named = None) -> Response:
    """Let a session go, with everything that was said and read in it. Only who may delete does."""
    del namespace, user_id
    return call.once(lambda: _delete(session_id, call))


def _put(session_id: str, body: WorkingIn, call: ServiceCall, budget: int | None) -> Response:
    with call.lease() as lease:
        verdicts = take_in(lease, call, session_id, body, budget)
        if refused := rejected(verdicts):
            return problem_of_verdict(refused)
        may_read = call.may(lease, "read")
        answer: dict[str, Any] = (session_of(lease, session_id) if may_read else None) or unread(session_id)
    held = [verdict for verdict in verdicts if not verdict.accepted]
    answer |= {"status": "quarantined" if held else "ok", "verdicts": [verdict.as_dict() for verdict in verdicts]}
    return JSONResponse(answer, 202 if held else 200)


def _delete(session_id: str, call: ServiceCall) -> Response:
    with call.lease() as lease:
        if not lease.keep.working.delete(session_id):
            raise UnknownId("No such session in this keep.", code="unknown_session")
    return JSONResponse({"status": "ok"})


def _is_theirs(body: dict[str, Any], namespace: str | None, user_id: str | None) -> bool:
    """A name in the query narrows what is found, where the session has one."""
    return (namespace is None or body["namespace"] in (None, namespace)) and (
        user_id is None or body["user_id"] in (None, user_id)
    )
