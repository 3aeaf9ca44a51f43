"""Sessions: what entered each, when it became tainted and by what, and how its calls were judged."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from truekeep.config import NAME_CAP
from truekeep.screens.credentials import redact
from truekeep.serve.console.desk import DeskEntry, Seated

router = APIRouter()
ENTRY = DeskEntry("sessions", "sessions")
_ON_A_PAGE, _MOST = 50, 2_000
_SHOWN = 120
"""Moments of one session on its page, the latest."""
_TEXT = 600
"""Characters of each text; who needs all of one goes to where it came from."""


@router.get("/k/{keep}/sessions")
def sessions(desk: Seated, page: Annotated[int, Query(ge=1, le=_MOST // _ON_A_PAGE)] = 1) -> Response:
    """The sessions in which something happened, the latest first."""
    with desk.open() as keep:
        lines = keep.calls.sessions(page * _ON_A_PAGE + 1)
    shown = lines[(page - 1) * _ON_A_PAGE : page * _ON_A_PAGE]
    is_more = len(lines) > page * _ON_A_PAGE
    return desk.page("sessions.html", here="sessions", lines=shown, number=page, is_more=is_more)


@router.get("/k/{keep}/session")
def session(desk: Seated, name: Annotated[str, Query(max_length=NAME_CAP)]) -> Response:
    """One session from its beginning, as a picture: clean above, tainted from a point on, and its calls beside it."""
    with desk.open() as keep:
        story = keep.calls.session(name, _SHOWN)
    return desk.page("session.html", here="sessions", story=story, shown=lambda text: redact(text[:_TEXT]), cap=_TEXT)
