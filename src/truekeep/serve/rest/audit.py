"""The audit log over REST: events in order, and whether the store is what they left behind."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from truekeep.errors import InvalidRequest
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.models import MaybeName, PageSize
from truekeep.serve.rest.paging import cursor_of, next_link, place_of
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller
from truekeep.types import utc_text

router = resource("/v1/audit", "audit")


class EventBody(BaseModel):
    """One entry of the log."""

    seq: int
    at: str
    kind: str
    body: dict[str, Any]
    hash: str


class Events(BaseModel):
    """A page of them."""

    events: list[EventBody]
    next_cursor: str | None = None


class VerifiedBody(BaseModel):
    """What a verification of the whole keep found."""

    ok: bool
    events: int
    rows: int
    problems: list[str]
    unverified: list[str]


@router.get("", response_model=Events)
@router.get("/", include_in_schema=False)
def events(
    request: Request,
    call: Caller,
    limit: PageSize = 100,
    cursor: MaybeName = None,
    after: Annotated[int, Query(ge=0, lt=1 << 60, description="The number of the last event that is known.")] = 0,
) -> Response:
    """Events in order, oldest first."""
    place = place_of(cursor) if cursor is not None else after
    if not isinstance(place, int) or not 0 <= place < 1 << 60:
        raise InvalidRequest("The cursor cannot be used.", code="invalid_cursor")
    with call.lease() as lease:
        listed = lease.keep.audit.events(after=place, limit=limit)
    on = cursor_of(listed[-1].seq) if len(listed) == limit else None
    shown = [
        {
            "seq": one.seq,
            "at": utc_text(one.at),
            "kind": one.kind,
            "body": sanitised_json(dict(one.body)),
            "hash": one.hash,
        }
        for one in listed
    ]
    return JSONResponse({"events": shown, "next_cursor": on}, headers=next_link(request, on))


@router.get("/verify", response_model=VerifiedBody)
def verify(call: Caller) -> Response:
    """Check every row and every event again, from the beginning."""
    with call.lease() as lease:
        found = lease.keep.audit.verify()
    return JSONResponse(
        {
            "ok": found.ok,
            "events": found.events,
            "rows": found.rows,
            "problems": list(found.problems),
            "unverified": list(found.unverified),
        }
    )
