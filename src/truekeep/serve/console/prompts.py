"""The library of extraction prompts: read, proposed, approved by somebody else, and taken out of use."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.serve.console.desk import Seated
from truekeep.serve.console.form import Form, FormFields
from truekeep.serve.console.operate import places

router = APIRouter()
_CAP, _TEXT_CAP = 80, 40_000
_MOST = 100
"""Versions on one page, the newest first."""


@router.get("/k/{keep}/prompts")
def prompts(desk: Seated) -> Response:
    """Every version of every prompt, with who added and who decided."""
    with desk.open() as keep:
        versions = list(keep.prompts.all())[::-1]
    return desk.page(
        "prompts.html",
        here="operate",
        place="prompts",
        places=places(desk),
        versions=versions[:_MOST],
        left=len(versions[_MOST:]),
        may_add=desk.identity.may("custom-prompts"),
    )


@router.post("/k/{keep}/prompts")
def add(desk: Seated, form: Form) -> Response:
    """Propose a prompt; a dangerous one is refused now."""
    text = form.text("text", _TEXT_CAP).replace("\r\n", "\n")
    with desk.open() as keep:
        keep.prompts.add(form.text("name", _CAP), text, by=desk.by)
    return desk.back_to(desk.path("prompts"))


@router.post("/k/{keep}/prompts/approve")
def approve(desk: Seated, form: Form) -> Response:
    """Approve a version that somebody else added."""
    with desk.open() as keep:
        keep.prompts.approve(form.text("name", _CAP), _version(form), by=desk.by, reason=form.reason())
    return desk.back_to(desk.path("prompts"))


@router.post("/k/{keep}/prompts/disable")
def disable(desk: Seated, form: Form) -> Response:
    """Take a text out of use, under whatever name and version."""
    with desk.open() as keep:
        keep.prompts.disable(form.text("name", _CAP), _version(form), by=desk.by, reason=form.reason())
    return desk.back_to(desk.path("prompts"))


def _version(form: FormFields) -> int | None:
    given = form.text("version", 10)
    return int(given) if given.isascii() and given.isdecimal() else None
