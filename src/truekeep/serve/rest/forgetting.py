"""Forgetting in plain words, and bringing it back."""

from __future__ import annotations

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.config import PAGE_CAP, QUERY_CAP
from truekeep.errors import InvalidRequest
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.models import Body, Name
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller

router = resource("/v1/forget", "forgetting")


class Forget(Body):
    """What is to be forgotten: plain words ("what I said about the gym"), or memories."""

    about: str | None = Field(default=None, min_length=1, max_length=QUERY_CAP)
    ids: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)
    dry_run: bool = False


class MatchOut(BaseModel):
    """Something that was forgotten, or may be meant."""

    id: str
    text: str
    as_of: str


class ForgottenOut(BaseModel):
    """What came of it. ``id`` is what undoes it; ``items`` wait for the owner where an agent asked."""

    code: str
    reason: str
    done: bool
    matches: list[MatchOut]
    id: str | None
    items: list[str]


class UndoneOut(BaseModel):
    """What was brought back."""

    id: str


@router.post("", response_model=ForgottenOut, responses={202: {"model": ForgottenOut}})
def forget(body: Forget, call: Caller) -> Response:
    """Forget what is clearly meant, or say what may be meant. What an agent wants forgotten waits for a person: 202."""
    if (body.about is None) == (not body.ids):
        raise InvalidRequest("Say what to forget: what it is about, or ids.", code="what_to_forget")

    def do() -> Response:
        with call.lease() as lease:
            what = body.about if body.about is not None else body.ids
            told = lease.keep.forget(what, via=call.identity.channel, dry_run=body.dry_run)
        shown = told.as_dict() if "read" in call.identity.capabilities else told.as_dict() | {"matches": []}
        return JSONResponse(sanitised_json(shown), 202 if told.items else 200)

    return call.once(do, is_receipt=True)


@router.post("/{incident}/undo", response_model=UndoneOut)
def undo(incident: str, call: Caller) -> Response:
    """Bring back what was forgotten, or the older word that a correction ended. Only who may delete does."""

    def do() -> Response:
        with call.lease() as lease:
            lease.keep.unforget(incident, via=call.identity.channel)
        return JSONResponse({"id": incident})

    return call.once(do)
