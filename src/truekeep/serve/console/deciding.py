"""What a person decides about one item: let it in, perhaps in other words, turn it down, or take that back.

Every decision carries a reason and the tag of what was looked at. Whoever comes second is told who was first, and what
they said; nothing is overwritten.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.review.decisions import item_etag
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form, FormFields
from truekeep.serve.console.inbox import InboxLook, Looking
from truekeep.serve.console.item import opened

if TYPE_CHECKING:
    from truekeep.keep import Keep

router = APIRouter()
_DAYS = {"1": 1, "7": 7, "30": 30, "90": 90}
_TEXT_CAP = 20_000
"""An edited text as a form sends it; what the keep takes is its own cap."""


@router.post("/k/{keep}/inbox/{item_id}/approve")
def approve(item_id: str, desk: Seated, form: Form, at: Looking) -> Response:
    """Let an item in, as it is or in other words."""
    with desk.open() as keep:
        if (late := _too_late(desk, keep, item_id, form)) is not None:
            return late
        days, text = _DAYS.get(form.text("days", 10)), form.text("text", _TEXT_CAP)
        verdict = keep.review.approve(
            item_id,
            by=desk.by,
            reason=form.reason(),
            until=datetime.now(UTC) + timedelta(days=days) if days else None,
            inform_only=form.has("inform_only"),
            text=text.replace("\r\n", "\n") if text else None,
        )
        if not verdict.accepted:
            return desk.page(
                "refused.html", status=422, here="inbox", verdict=verdict, text=text, opened=opened(desk, keep, item_id)
            )
    return _on(desk, item_id, form, at)


@router.post("/k/{keep}/inbox/{item_id}/reject")
def reject(item_id: str, desk: Seated, form: Form, at: Looking) -> Response:
    """Turn an item down; it leaves a tombstone."""
    with desk.open() as keep:
        if (late := _too_late(desk, keep, item_id, form)) is not None:
            return late
        keep.review.reject(item_id, by=desk.by, reason=form.reason())
    return _on(desk, item_id, form, at)


@router.post("/k/{keep}/inbox/{item_id}/undo")
def undo(item_id: str, desk: Seated, form: Form, at: Looking) -> Response:
    """Take a decision back, while that is possible."""
    with desk.open() as keep:
        keep.review.undo(item_id, by=desk.by, reason=form.text("reason") or desk.words.t("inbox.undo_reason"))
    return desk.back_to(desk.path("inbox", **at.query(item=item_id)))


def _too_late(desk: Desk, keep: Keep, item_id: str, form: FormFields) -> Response | None:
    """A page that says who decided meanwhile, if the item is not what this person looked at."""
    item = keep.review.show(item_id)
    if item.state == "open" and form.text("etag", 100) == item_etag(item):
        return None
    return desk.page("conflict.html", status=409, here="inbox", item=item)


def _on(desk: Desk, item_id: str, form: FormFields, at: InboxLook) -> Response:
    """Go on with the next item; what was done can be undone from there."""
    return desk.back_to(desk.path("inbox", **at.query(item=form.text("after", 100), done=item_id)))
