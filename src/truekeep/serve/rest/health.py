"""Health: whether the service answers, whether it can do its work, and its metrics."""

from __future__ import annotations

import time
from typing import Any, Literal

from fastapi import Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel

from truekeep import __version__
from truekeep.errors import NotAllowed, TruekeepError
from truekeep.serve.metrics import MEDIA_TYPE
from truekeep.serve.problem import problem
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller, Service, ServiceCall
from truekeep.sessions.channels import configured
from truekeep.types import Channel

router = resource("", "health")


class Health(BaseModel):
    """The service answers."""

    now: float
    status: Literal["ok"]
    version: str


@router.get("/v1/health", response_model=Health)
async def health() -> Response:
    """Whether the service answers at all."""
    return JSONResponse({"now": time.time(), "status": "ok", "version": __version__})


@router.get("/v1/health/ready", response_model=Health, responses=refusals())
def ready(request: Request) -> Response:
    """Whether it can do its work: rules are loaded, tokens can be read and keeps can be written."""
    service: Service = request.app.state.service
    try:
        service.authenticator.check()
        is_up = service.pool.is_open and service.warmup.is_done and not service.drain.is_on
        usable = is_up and service.pool.can_write()
    except TruekeepError:
        usable = False
    if not usable:
        return problem(503, "not_ready", "The service cannot do its work now.", hint="Run 'truekeep doctor'.")
    return JSONResponse({"now": time.time(), "status": "ok", "version": __version__})


class Who(BaseModel):
    """What the token is good for."""

    keep: str
    channel: str
    capabilities: list[str]
    subject: str
    signs_as: str
    """The name that stands under decisions made with it."""
    channel_capabilities: list[str] | None = None
    """What its channel may do in the keep; nothing if no keep is named."""


@router.get("/v1/identity", response_model=Who, responses=refusals())
def identity(call: Caller) -> Response:
    """What the token that this request carries is good for, in the keep that is named."""
    known = call.identity
    told: dict[str, Any] = {"keep": known.keep_pattern, "channel": known.channel, "subject": known.subject}
    told |= {"capabilities": sorted(known.capabilities), "signs_as": call.reviewer, "channel_capabilities": None}
    if call.keep_name is not None or known.names_one_keep:
        name = known.keep(call.keep_name)
        told |= {"keep": name, "channel_capabilities": sorted(_channel(call, name).capabilities)}
    return JSONResponse(told)


def _channel(call: ServiceCall, keep: str) -> Channel:
    """The token's channel; in a keep that nobody has written to yet, as the settings have it."""
    if call.service.pool.exists(keep):
        with call.lease() as lease:
            return lease.keep.channels.get(call.identity.channel)
    found = configured(call.service.pool.settings, call.identity.channel)
    if found is None:
        raise NotAllowed("This token's channel is not one of this keep's.", code="channel_unknown")
    return found


@router.get("/metrics", responses=refusals() | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
async def metrics(call: Caller) -> Response:
    """What this worker did, in Prometheus' text format."""
    return PlainTextResponse(call.service.metrics.text(), media_type=MEDIA_TYPE)
