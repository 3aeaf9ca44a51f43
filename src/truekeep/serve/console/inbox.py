"""The inbox: what was held back and waits for a person, oldest first."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.serve.console.desk import Entry, Reviewer

router = APIRouter()
ENTRY = Entry("inbox", "inbox", ("reviewer",))


@router.get("/k/{keep}/inbox")
def inbox(desk: Reviewer) -> Response:
    """The list."""
    with desk.open() as keep:
        desk.require_reviewer(keep)
        items = keep.review.list()[:50]
    return desk.page("inbox.html", here="inbox", items=items)
