"""Where an operator begins: the pages about what a keep is run with, as far as somebody may see them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.errors import InvalidRequest
from truekeep.serve.capabilities import permit
from truekeep.serve.console.desk import Desk, DeskEntry, Seated
from truekeep.serve.console.form import FormFields

router = APIRouter()
ENTRY = DeskEntry("operate", "operate")
PLACES = ("grants", "tools", "channels", "members", "tokens", "prompts", "backups", "keys")
"""The pages, in the order of the second row of the navigation."""


@router.get("/k/{keep}/operate")
def operate(desk: Seated) -> Response:
    """What there is to run, and what each page is for."""
    return desk.page("operate.html", here="operate", place="", places=places(desk))


def require_named(desk: Desk, form: FormFields) -> None:
    """Refuse what replaces or re-encrypts a keep unless its name was typed."""
    if form.text("confirm", 200) != desk.keep_name:
        raise InvalidRequest(
            "The keep's name was not typed as it is.", code="not_confirmed", hint="Type it, so that it is this keep."
        )


def places(desk: Desk) -> list[str]:
    """The pages that this person may have."""
    return [one for one in PLACES if permit("console", f"GET /k/{{keep}}/{one}").allows(desk.identity.capabilities)]
