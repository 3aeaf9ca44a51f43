"""Review: what waits for a person, and what they decide. A decision names the version that was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Header, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from truekeep.config import NAME_CAP, OBSERVE_CAP
from truekeep.errors import InvalidRequest
from truekeep.review.decisions import etag_of, item_as_dict
from truekeep.serve.rest.models import Body, FindingBody, MaybeName, Moment, PageSize, Reason, VerdictOut
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.rest.paging import cursor_of, next_link, place_of
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller, ServiceCall

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease

router = resource("/v1/review", "review")
State = Literal["open", "approved", "rejected", "expired", "lifted"]


class ItemBody(BaseModel):
    """Something that waits for a person, or waited."""

    id: str
    kind: str
    state: State
    content: str
    code: str
    reason: str
    findings: list[FindingBody]
    etag: str
    model_config = ConfigDict(extra="allow")


class Items(BaseModel):
    """A page of them."""

    items: list[ItemBody]
    next_cursor: str | None = None


class ApproveBody(Body):
    """Let it in, perhaps within limits."""

    reason: Reason
    until: Moment | None = None
    inform_only: bool = False
    purpose: str | None = Field(default=None, max_length=NAME_CAP)


class Lift(Body):
    """A text that was rejected or forgotten, and may be said again."""

    text: str = Field(min_length=1, max_length=OBSERVE_CAP)
    reason: Reason


class Lifted(BaseModel):
    """Whether there was a tombstone over it."""

    lifted: bool


class RejectBody(Body):
    """Turn it down for good."""

    reason: Reason


@router.get("", response_model=Items)
@router.get("/", include_in_schema=False)
def list_items(
    request: Request,
    call: Caller,
    state: Annotated[State | Literal["all"], Query()] = "open",
    limit: PageSize = 100,
    cursor: MaybeName = None,
) -> Response:
    """Items in a state, oldest first."""
    after = place_of(cursor) if cursor is not None else None
    with call.lease() as lease:
        listed = lease.keep.review.list(None if state == "all" else state)
    ids = [item.id for item in listed]
    start = ids.index(after) + 1 if isinstance(after, str) and after in ids else 0
    page = listed[start : start + limit]
    on = cursor_of(page[-1].id) if start + limit < len(listed) else None
    items = [_tagged(item_as_dict(item)) for item in page]
    return JSONResponse({"items": items, "next_cursor": on}, headers=next_link(request, on))


@router.get("/{item_id}", response_model=ItemBody)
def read(item_id: str, call: Caller) -> Response:
    """One item, with the tag that a decision on it must name."""
    with call.lease() as lease:
        shown = _tagged(item_as_dict(lease.keep.review.show(item_id)))
    return JSONResponse(shown, headers={"ETag": f'"{shown["etag"]}"'})


@router.post("/{item_id}/approve", response_model=VerdictOut, responses=refusals(412, 428))
def approve(
    item_id: str, body: ApproveBody, call: Caller, if_match: Annotated[str | None, Header()] = None
) -> Response:
    """Let an item in. ``If-Match`` names the version that was looked at."""

    def do() -> Response:
        with _deciding(call, item_id, if_match) as lease:
            verdict = lease.keep.review.approve(
                item_id,
                by=call.reviewer,
                reason=body.reason,
                until=body.until,
                inform_only=body.inform_only,
                purpose=body.purpose,
            )
        return JSONResponse(verdict.as_dict())

    return call.once(do, lambda done: JSONResponse(done[0].as_dict()))


@router.post("/{item_id}/reject", response_model=VerdictOut, responses=refusals(412, 428))
def reject(item_id: str, body: RejectBody, call: Caller, if_match: Annotated[str | None, Header()] = None) -> Response:
    """Turn an item down; planting its claim again is refused from here on."""

    def do() -> Response:
        with _deciding(call, item_id, if_match) as lease:
            lease.keep.review.reject(item_id, by=call.reviewer, reason=body.reason)
        return _turned_down(item_id)

    return call.once(do, lambda _: _turned_down(item_id))


def _turned_down(item_id: str) -> Response:
    told = {"success": True, "decision": "accept", "code": "rejected", "status": "ok", "findings": []}
    return JSONResponse(told | {"reason": "Turned down.", "review_id": item_id})


@router.post("/lift", response_model=Lifted)
def lift(body: Lift, call: Caller) -> Response:
    """Lift the tombstone over a text, and put back what fell with it."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            lifted = lease.keep.review.lift(body.text, by=call.reviewer, reason=body.reason)
        return JSONResponse({"lifted": lifted})

    return call.once(do, lambda _: JSONResponse({"lifted": True}))


class _deciding:  # noqa: N801 - a block, read as one: with _deciding(…)
    """The keep, for a decision on the version that was looked at."""

    def __init__(self, call: ServiceCall, item_id: str, tag: str | None) -> None:
        self._call, self._item_id, self._tag = call, item_id, tag
        self._lease = call.lease(noted=True)

    def __enter__(self) -> Lease:
        lease = self._lease.__enter__()
        try:
            now = _tagged(item_as_dict(lease.keep.review.show(self._item_id)))["etag"]
            if self._tag is None:
                raise InvalidRequest("A decision names what was looked at: send If-Match.", code="etag_missing")
            if self._tag.strip() != f'"{now}"':
                raise InvalidRequest("The item is not what was looked at any more.", code="etag_mismatch")
        except BaseException as error:
            self._lease.__exit__(type(error), error, error.__traceback__)
            raise
        return lease

    def __exit__(self, *error: Any) -> bool | None:
        return self._lease.__exit__(*error)


def _tagged(item: dict[str, Any]) -> dict[str, Any]:
    return item | {"etag": etag_of(item)}
