"""One source: what waits from it, and what enrolling or muting it would change, before it is done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from truekeep.errors import TruekeepError
from truekeep.quarantine.queue import QueueFilter
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form
from truekeep.types import Standing

if TYPE_CHECKING:
    from truekeep.keep import Keep

router = APIRouter()
_CAP = 300
"""As long as the name of a source."""
_UNFIT = re.compile(r"[^a-z0-9_.-]+")


@router.get("/k/{keep}/source")
def source(
    desk: Seated,
    channel: Annotated[str, Query(max_length=_CAP)],
    principal: Annotated[str, Query(max_length=_CAP)] = "",
    item: Annotated[str, Query(max_length=_CAP)] = "",
) -> Response:
    """What is known of a source, and what could be done about it."""
    with desk.open() as keep:
        muted = keep.channels.muted()
        facts: dict[str, Any] = {
            "channel": channel,
            "principal": principal,
            "standing": _standing(keep, channel),
            "waits": keep.review.count(QueueFilter(channel=channel, principal=principal)),
            "mute": next((one for one in muted if (one.channel, one.principal or "") == (channel, principal)), None),
            "muted": muted,
            "suggested": _suggested(principal or channel),
            "enrolled": [one for one in keep.channels.list() if one["state"] in ("enrolled", "retired", "settings")],
            "back": item,
        }
    return desk.page("source.html", here="inbox", **facts)


@router.post("/k/{keep}/source/mute")
def mute(desk: Seated, form: Form) -> Response:
    """Refuse what a source says from here on."""
    channel, principal = form.text("channel", _CAP), form.text("principal", _CAP)
    with desk.open() as keep:
        keep.channels.mute(channel, principal or None, by=desk.by, reason=form.reason())
    return _back(desk, channel, principal)


@router.post("/k/{keep}/source/unmute")
def unmute(desk: Seated, form: Form) -> Response:
    """Listen to it again."""
    channel, principal = form.text("channel", _CAP), form.text("principal", _CAP)
    with desk.open() as keep:
        keep.channels.unmute(channel, principal or None, by=desk.by, reason=form.reason())
    return _back(desk, channel, principal)


@router.post("/k/{keep}/source/enrol")
def enrol(desk: Seated, form: Form) -> Response:
    """Give a system a channel of its own."""
    channel, principal = form.text("channel", _CAP), form.text("principal", _CAP)
    with desk.open() as keep:
        keep.channels.enrol(form.text("name", 80), by=desk.by, reason=form.reason())
    return _back(desk, channel, principal)


def _back(desk: Desk, channel: str, principal: str) -> Response:
    return desk.back_to(desk.path("source", channel=channel, principal=principal))


def _standing(keep: Keep, channel: str) -> Standing | None:
    try:
        return keep.channels.get(channel).standing
    except TruekeepError:
        return None


def _suggested(name: str) -> str:
    """A name for a channel of the source's own."""
    return _UNFIT.sub("-", name.casefold()).strip("-._")[:60]
