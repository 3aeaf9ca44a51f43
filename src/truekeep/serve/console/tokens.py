"""Tokens for this keep: listed without their secrets, revoked at once, and made with no more than their maker has.

Whoever administers must not become the owner by making a token that writes as them, so the page gives only what the
person at it may do, over their own channel or as a reviewer. All others are made where the service is run.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fnmatch import fnmatchcase

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.errors import InvalidRequest, NotAllowed, UnknownId
from truekeep.serve.console.desk import Desk, Seated
from truekeep.serve.console.form import Form
from truekeep.serve.console.operate import places
from truekeep.serve.tokens import Token, TokenBook
from truekeep.trust.origin import person_name

router = APIRouter()
_CAP = 100
"""As long as a person's name, and longer than a token's id."""
_MOST = 300
"""Tokens on one page, the newest first."""
_LIVES = {"1": 1, "30": 30, "90": 90, "365": 365}


@router.get("/k/{keep}/tokens")
def tokens(desk: Seated) -> Response:
    """The tokens that reach this keep and none that this person does not."""
    return _page(desk)


@router.post("/k/{keep}/tokens/add")
def add(desk: Seated, form: Form) -> Response:
    """Make a token for a reviewer or an administrator of this keep, and show it, this one time."""
    given, name = frozenset(form.all("may")), person_name(form.text("subject", _CAP))
    if not given <= _givable(desk):
        raise NotAllowed(
            "Nobody gives more than they have.", code="token_not_allowed", hint="Ask who runs the service."
        )
    channel = f"reviewer:{name.replace(' ', '-')[:60]}"
    days = _LIVES.get(form.text("days", 5), 90)
    secret, _ = _book(desk).add(desk.identity.keep(desk.keep_name), channel, given, subject=name, days=days)
    return _page(desk, secret)


@router.post("/k/{keep}/tokens/revoke")
def revoke(desk: Seated, form: Form) -> Response:
    """Take a token back; its holder is refused from the next request on."""
    wanted = form.text("token", _CAP)
    if wanted not in {one.id for one in _reaching(desk)}:
        raise UnknownId("No such token.", hint="The page lists those of this keep.")
    if wanted == desk.identity.token_id and not form.has("sure"):
        raise InvalidRequest("That is your own token.", code="own_token", hint="Tick the box to sign yourself out.")
    _book(desk).revoke(wanted)
    return desk.back_to(desk.path("tokens"))


def _page(desk: Desk, secret: str = "") -> Response:
    now = datetime.now(UTC)
    return desk.page(
        "tokens.html",
        here="operate",
        place="tokens",
        places=places(desk),
        tokens=[one.as_dict(now) for one in _reaching(desk)[::-1][:_MOST]],
        givable=sorted(_givable(desk)),
        lives=tuple(_LIVES),
        secret=secret,
        own=desk.identity.token_id,
    )


def _book(desk: Desk) -> TokenBook:
    return TokenBook(desk.service.shared or desk.service.pool.paths.keys)


def _reaching(desk: Desk) -> list[Token]:
    """Tokens of this keep; one for several only for whoever is let into all of those, too."""
    keep, pattern = desk.identity.keep(desk.keep_name), desk.identity.keep_pattern
    return [one for one in _book(desk).list() if fnmatchcase(keep, one.keep) and _covers(pattern, one.keep)]


def _covers(pattern: str, other: str) -> bool:
    return pattern == other or ("*" not in other and fnmatchcase(other, pattern)) or pattern == "*"


def _givable(desk: Desk) -> frozenset[str]:
    """What can be given: what this person has, of what a reviewer's channel can be used for."""
    return desk.identity.capabilities & {"review", "admin", "read"}
