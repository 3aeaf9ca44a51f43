"""Tool calls: those that wait for the owner's word, and what was answered lately.

What is shown of a call is the question that the terminal and MCP put, in the same order: hearsay first. The default is
no: nothing is confirmed without a tick beside the button.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.errors import InvalidRequest
from truekeep.serve.console.asked import asked
from truekeep.serve.console.desk import Desk, DeskEntry, Seated
from truekeep.serve.console.form import Form, FormFields

router = APIRouter()
ENTRY = DeskEntry("calls", "calls")
_CAP = 200
"""Longer than any id of a call."""
_SHOWN = 50
"""Calls on one page, oldest first; nobody decides on more at a sitting."""


_LATELY = 30


@router.get("/k/{keep}/calls")
def calls(desk: Seated) -> Response:
    """What waits, and what was answered lately."""
    with desk.open() as keep:
        via = desk.decides_as(keep)
        waiting = keep.actions.pending(via=via)
        shown = [asked(keep, record) for record in waiting[:_SHOWN]]
        lately = keep.actions.tickets.all()[::-1][:_LATELY] if desk.may_read else []
        return desk.page("calls.html", here="calls", asked=shown, more=len(waiting[_SHOWN:]), lately=lately)


@router.post("/k/{keep}/calls/confirm")
def confirm(desk: Seated, form: Form) -> Response:
    """Say yes to one call."""
    if not form.has("sure"):
        raise InvalidRequest("Tick the box to confirm a call.", code="not_confirmed", hint="The default is no.")
    with desk.open() as keep:
        keep.actions.confirm(form.text("ticket", _CAP), via=desk.decides_as(keep))
    return _back(desk, form)


@router.post("/k/{keep}/calls/decline")
def decline(desk: Seated, form: Form) -> Response:
    """Turn one call down, or several at once; that is never more than nothing being done."""
    with desk.open() as keep:
        for ticket in form.all("ticket")[:_SHOWN] or [""]:
            keep.actions.decline(ticket[:_CAP], via=desk.decides_as(keep))
    return _back(desk, form)


@router.post("/k/{keep}/calls/undo")
def undo(desk: Seated, form: Form) -> Response:
    """Take a yes or a no back while the call was not carried out."""
    with desk.open() as keep:
        keep.calls.take_back(form.text("ticket", _CAP), via=desk.decides_as(keep))
    return _back(desk, form)


def _back(desk: Desk, form: FormFields) -> Response:
    if form.has("inbox"):
        return desk.back_to(desk.path("inbox", done=form.text("ticket", _CAP)))
    return desk.back_to(desk.path("calls"))
