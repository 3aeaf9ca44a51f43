"""Prompts: the keep's library of custom extraction prompts. Who proposes one does not approve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.config import OBSERVE_CAP, REASON_CAP
from truekeep.extract.library import PromptVersion
from truekeep.read.reader import sanitised_json
from truekeep.serve.rest.models import Body, Name
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller, ServiceCall
from truekeep.trust import fence
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease

router = resource("/v1/prompts", "prompts")


class StoredPromptIn(Body):
    """A prompt to propose."""

    name: Name
    text: str = Field(max_length=OBSERVE_CAP)


class PromptDecisionBody(Body):
    """A version to approve or to take out of use; the newest, if none is named."""

    version: int | None = Field(default=None, ge=1, le=1 << 40)
    reason: str = Field(default="", max_length=REASON_CAP)


class StoredPromptOut(BaseModel):
    """One version of a named prompt, and who decided what about it."""

    name: str
    version: int
    text: str
    hash: str
    state: Literal["proposed", "approved", "disabled"]
    added_by: str
    added_at: str
    decided_by: str | None
    decided_at: str | None
    reason: str


class Library(BaseModel):
    """Every version of every prompt."""

    prompts: list[StoredPromptOut]


@router.get("", response_model=Library)
def list_prompts(call: Caller) -> Response:
    """Every version of every prompt, for who proposes, reviews or administers them."""
    with call.lease() as lease:
        return JSONResponse({"prompts": [_shown(one) for one in lease.keep.prompts.all()]})


@router.post("", status_code=201, response_model=StoredPromptOut)
def propose(body: StoredPromptIn, call: Caller) -> Response:
    """Propose a prompt; a bad one is refused now. Somebody else has to approve it."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            return JSONResponse(_shown(lease.keep.prompts.add(body.name, body.text, by=call.reviewer)), 201)

    return call.once(do)


@router.get("/{name}", response_model=StoredPromptOut)
def usable(name: str, call: Caller) -> Response:
    """The newest approved version of a prompt, validated with today's patterns."""
    with call.lease() as lease:
        return JSONResponse(_shown(lease.keep.prompts.usable(name)))


@router.post("/{name}/approve", response_model=StoredPromptOut)
def approve(name: str, body: PromptDecisionBody, call: Caller) -> Response:
    """Let a proposed version be used."""
    return call.once(lambda: _decided(call, lambda lease, by: _approved(lease, name, body, by)))


@router.post("/{name}/disable", response_model=StoredPromptOut)
def disable(name: str, body: PromptDecisionBody, call: Caller) -> Response:
    """Take a text out of use, under whatever name and version."""

    def do(lease: Lease, by: str) -> PromptVersion:
        return lease.keep.prompts.disable(name, body.version, by=by, reason=body.reason)

    return call.once(lambda: _decided(call, do))


def _approved(lease: Lease, name: str, body: PromptDecisionBody, by: str) -> PromptVersion:
    return lease.keep.prompts.approve(name, body.version, by=by, reason=body.reason)


def _decided(call: ServiceCall, decide: Any) -> Response:
    with call.lease() as lease:
        return JSONResponse(_shown(decide(lease, call.reviewer)))


def _shown(version: PromptVersion) -> dict[str, Any]:
    return {
        "name": version.name,
        "version": version.version,
        "text": fence.sanitised(version.text),
        "hash": version.hash,
        "state": version.state.value,
        "added_by": sanitised_json(version.added_by),
        "added_at": utc_text(version.added_at),
        "decided_by": sanitised_json(version.decided_by),
        "decided_at": utc_text(version.decided_at) if version.decided_at else None,
        "reason": sanitised_json(version.reason),
    }
