"""Many items at once: a preview of exactly what would be decided, and then exactly that and nothing else."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from truekeep.errors import InvalidRequest
from truekeep.quarantine.queue import QueueCard
from truekeep.review.decisions import item_etag
from truekeep.serve.console.desk import Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.inbox import Looking
from truekeep.serve.console.waiting import waits_in

router = APIRouter()
MOST = 200
"""Items that are decided at once; what is more waits for the next time."""


@router.get("/k/{keep}/bulk")
def preview(
    desk: Seated,
    at: Looking,
    act: Literal["approve", "reject"] = "reject",
    pick: Annotated[list[str] | None, Query(max_length=500)] = None,
) -> Response:
    """What would be decided: the groups that were picked, or all that the filter finds."""
    with desk.open() as keep:
        groups = waits_in(desk, keep, at.wanted, at.what).groups
        chosen = [group for group in groups if not pick or group.key in pick]
        cards: list[QueueCard] = [card for group in chosen for card in group.cards]
    items = [(card, item_etag(card.item)) for card in cards[:MOST]]
    return desk.page("bulk.html", here="inbox", act=act, items=items, left=max(0, len(cards) - MOST), at=at)


@router.post("/k/{keep}/bulk")
def decide(desk: Seated, form: Form, at: Looking) -> Response:
    """Decide just what was previewed; what somebody else decided meanwhile is left to them."""
    seen = [one.partition(" ") for one in form.all("item")[:MOST]]
    act, reason = form.text("act", 20), form.reason()
    if act not in ("approve", "reject"):
        raise InvalidRequest("There is no such decision.", code="invalid_form")
    with desk.open() as keep:
        told = keep.review.decide(
            [(item_id, etag) for item_id, _, etag in seen],
            approve=act == "approve",
            by=desk.by,
            reason=reason,
            inform_only=form.has("inform_only"),
        )
        left = [keep.review.show(item_id) for item_id, code in told.items() if code not in ("done", "unknown_id")]
    done = [item_id for item_id, code in told.items() if code == "done"]
    return desk.page("bulk_done.html", here="inbox", act=act, done=done, left=left, at=at)


@router.post("/k/{keep}/bulk/undo")
def undo(desk: Seated, form: Form, at: Looking) -> Response:
    """Take all of it back."""
    with desk.open() as keep:
        left = []
        for item_id in form.all("item")[:MOST]:
            try:
                keep.review.undo(item_id, by=desk.by, reason=desk.words.t("inbox.undo_reason"))
            except InvalidRequest:
                left.append(keep.review.show(item_id))
    if left:
        return desk.page("bulk_done.html", status=409, here="inbox", act="undo", done=[], left=left, at=at)
    return desk.back_to(desk.path("inbox", **at.query()))
