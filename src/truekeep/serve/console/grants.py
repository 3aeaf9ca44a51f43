"""Standing permissions: a tool, an argument, what it may be, a most and an end."""

from __future__ import annotations

from datetime import UTC, datetime, time

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.errors import InvalidRequest
from truekeep.serve.console.desk import Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.operate import places

router = APIRouter()
_CAP = 200
"""As long as a pattern of a grant."""


@router.get("/k/{keep}/grants")
def grants(desk: Seated, tool: str = "", argument: str = "", pattern: str = "") -> Response:
    """What is permitted; a page that explains a call may propose the next one."""
    with desk.open() as keep:
        listed = keep.grants.list(via=desk.decides_as(keep))
    proposed = {"tool": tool[:_CAP], "argument": argument[:_CAP], "pattern": pattern[:_CAP]}
    now = datetime.now(UTC)
    return desk.page(
        "grants.html", here="operate", place="grants", places=places(desk), grants=listed, proposed=proposed, at=now
    )


@router.post("/k/{keep}/grants")
def add(desk: Seated, form: Form) -> Response:
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
    return desk.back_to(desk.path("grants"))


@router.post("/k/{keep}/grants/take-back")
def take_back(desk: Seated, form: Form) -> Response:
    """Take a permission back."""
    with desk.open() as keep:
        keep.grants.remove(form.text("grant", _CAP), by=desk.by, via=desk.decides_as(keep))
    return desk.back_to(desk.path("grants"))


def _until(day: str) -> datetime | None:
    """The end of a day, or never."""
    try:
        return datetime.combine(datetime.fromisoformat(day).date(), time.max, UTC) if day else None
    except ValueError:
        raise InvalidRequest("That is no day.", code="invalid_day", hint="Write it as 2027-03-31.") from None
