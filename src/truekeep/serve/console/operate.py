"""Where an operator begins: the pages about what a keep is run with, as far as somebody may see them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.serve.capabilities import permit
from truekeep.serve.console.desk import Desk, DeskEntry, Seated

router = APIRouter()
ENTRY = DeskEntry("operate", "operate")
PLACES = ("grants", "tools", "channels", "members", "tokens", "prompts", "backups", "keys")
"""The pages, in the order of the second row of the navigation."""


@router.get("/k/{keep}/operate")
def operate(desk: Seated) -> Response:
    """What there is to run, and what each page is for."""
    return desk.page("operate.html", here="operate", place="", places=places(desk))


def places(desk: Desk) -> list[str]:
    """The pages that this person may have."""
    return [one for one in PLACES if permit("console", f"GET /k/{{keep}}/{one}").allows(desk.identity.capabilities)]
