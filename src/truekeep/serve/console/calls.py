"""Tool calls: those that wait for the owner's word, and the owner's standing permissions.

What is shown of a call is the question that the terminal and MCP put, in the same order: hearsay first. The default is
no: nothing is confirmed without a tick beside the button.
"""

from __future__ import annotations

from datetime import UTC, datetime, time

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.act.question import question_about
from truekeep.errors import InvalidRequest
from truekeep.serve.console.desk import Desk, DeskEntry, Seated
from truekeep.serve.console.form import Form

router = APIRouter()
ENTRY = DeskEntry("calls", "calls")
_CAP = 200
"""As long as a pattern of a grant."""
_SHOWN = 50
"""Calls on one page, oldest first; nobody decides on more at a sitting."""


@router.get("/k/{keep}/calls")
def calls(desk: Seated) -> Response:
    """What waits, and what is permitted for good."""
    with desk.open() as keep:
        via = desk.decides_as(keep)
        waiting, grants = keep.actions.pending(via=via), keep.grants.list(via=via)
        asked = [(record, question_about(record)) for record in waiting[:_SHOWN]]
        return desk.page("calls.html", here="calls", asked=asked, more=len(waiting[_SHOWN:]), grants=grants)


@router.post("/k/{keep}/calls/confirm")
def confirm(desk: Seated, form: Form) -> Response:
    """Say yes to one call."""
    if not form.has("sure"):
        raise InvalidRequest("Tick the box to confirm a call.", code="not_confirmed", hint="The default is no.")
    with desk.open() as keep:
        keep.actions.confirm(form.text("ticket", _CAP), via=desk.decides_as(keep))
    return _back(desk)


@router.post("/k/{keep}/calls/decline")
def decline(desk: Seated, form: Form) -> Response:
    """Turn one call down."""
    with desk.open() as keep:
        keep.actions.decline(form.text("ticket", _CAP), via=desk.decides_as(keep))
    return _back(desk)


@router.post("/k/{keep}/calls/grant")
def grant(desk: Seated, form: Form) -> Response:
    """Permit calls of a tool whose argument fits a pattern."""
    argument, most = form.text("argument", _CAP), form.text("most", _CAP)
    with desk.open() as keep:
        keep.grants.add(
            tool=form.text("tool", _CAP),
            where={argument: form.text("pattern", _CAP)},
            cap={argument: most} if most else None,
            until=_until(form.text("until", 10)),
            by=desk.by,
            via=desk.decides_as(keep),
        )
    return _back(desk)


@router.post("/k/{keep}/calls/take-back")
def take_back(desk: Seated, form: Form) -> Response:
    """Take a permission back."""
    with desk.open() as keep:
        keep.grants.remove(form.text("grant", _CAP), by=desk.by, via=desk.decides_as(keep))
    return _back(desk)


def _back(desk: Desk) -> Response:
    return desk.back_to(desk.path("calls"))


def _until(day: str) -> datetime | None:
    """The end of a day, or never."""
    try:
        return datetime.combine(datetime.fromisoformat(day).date(), time.max, UTC) if day else None
    except ValueError:
        raise InvalidRequest("That is no day.", code="invalid_day", hint="Write it as 2027-03-31.") from None
