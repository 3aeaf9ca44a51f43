"""Channels and members: the authenticated ways into a keep, opened and closed by an administrator."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.errors import InvalidRequest
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.operate import places
from truekeep.types import MEMBER

router = APIRouter()
_CAP = 80
"""Longer than any channel's name."""


@router.get("/k/{keep}/channels")
def channels(desk: Seated) -> Response:
    """Every way in that is not a member's, and the sources that are muted."""
    return _page(desk, "channels")


@router.get("/k/{keep}/members")
def members(desk: Seated) -> Response:
    """The people of a shared keep."""
    return _page(desk, "members")


@router.post("/k/{keep}/channels/enrol")
def enrol(desk: Seated, form: Form) -> Response:
    """Open a channel for a system of the owner's."""
    name = form.text("name", _CAP)
    if name.startswith(MEMBER):
        raise InvalidRequest("A member is enrolled on the page of members.", code="invalid_channel_name")
    with desk.open() as keep:
        keep.channels.enrol(name, by=desk.by, reason=form.reason())
    return desk.back_to(desk.path("channels"))


@router.post("/k/{keep}/members/enrol")
def enrol_member(desk: Seated, form: Form) -> Response:
    """Let a person of a shared keep in."""
    with desk.open() as keep:
        keep.channels.enrol(f"{MEMBER}{form.text('name', _CAP)}", by=desk.by, reason=form.reason())
    return desk.back_to(desk.path("members"))


@router.post("/k/{keep}/channels/retire")
def retire(desk: Seated, form: Form) -> Response:
    """Close a way in; what came over it stays."""
    name = form.text("name", _CAP)
    with desk.open() as keep:
        keep.channels.retire(name, by=desk.by, reason=form.reason())
    return desk.back_to(desk.path("members" if name.startswith(MEMBER) else "channels"))


def _page(desk: Desk, place: str) -> Response:
    with desk.open() as keep:
        listed = keep.channels.list()
        muted, is_shared = keep.channels.muted(), keep.channels.is_shared()
    shown = [one for one in listed if one["name"].startswith(MEMBER) == (place == "members")]
    return desk.page(
        "channels.html",
        here="operate",
        place=place,
        places=places(desk),
        channels=shown,
        muted=muted if place == "channels" else [],
        is_shared=is_shared,
        prefix=MEMBER,
    )
