"""The overview over REST: what happens in a keep now, for whoever looks after it."""

from __future__ import annotations

import os

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from truekeep.keep import now
from truekeep.serve.metrics import Metrics
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller
from truekeep.serve.shelf import shelf_of
from truekeep.signals.overview import overview
from truekeep.signals.places import WebhookPlaces

router = resource("/v1/overview", "audit")
_RECALLS = ("/v1/memories/recall", "/v1/long-term-memory/search", "/v1/memory/prompt")
_TOOLS = ("search_memories", "search_nodes")


class SessionNowBody(BaseModel):
    """A session: whether anything foreign is in it, what came in, and how its calls were answered."""

    name: str
    state: str
    last: str
    entered: int
    foreign: int
    calls: dict[str, int]


class WaitingNowBody(BaseModel):
    """Something that waits for a person."""

    id: str
    what: str
    code: str
    since: str
    about: str
    expires: str


class AlertBody(BaseModel):
    """Something that somebody should look at."""

    code: str
    count: int
    detail: str


class WorkerBody(BaseModel):
    """What the process that answers has done since it started, in all keeps."""

    worker: str
    requests: int
    recalls: int
    failures: int


class OverviewBody(BaseModel):
    """One keep at one moment. Calls are those of the last hour, rates a second over the last minute."""

    keep: str
    at: str
    ok: bool
    sessions: dict[str, int]
    latest: list[SessionNowBody]
    calls: dict[str, int]
    waiting: dict[str, int]
    waits: list[WaitingNowBody]
    rates: dict[str, float]
    alerts: list[AlertBody]
    service: WorkerBody


@router.get("", response_model=OverviewBody, responses=refusals())
def show(call: Caller) -> Response:
    """What happens in the keep now: sessions and their taint, calls, what waits, rates and alerts. No texts."""
    pool = call.service.pool
    with call.lease() as lease:
        places = WebhookPlaces(call.service.shared or shelf_of(pool.paths, pool.settings), now).of(lease.keep.name)
        told = overview(lease.keep, now(), places).as_dict()
    return JSONResponse(told | {"service": _worker(call.service.metrics)})


def _worker(metrics: Metrics) -> dict[str, int | str]:
    asked = "truekeep_requests_total"
    recalls = metrics.total(asked, "route", _RECALLS) + metrics.total("truekeep_tools_total", "tool", _TOOLS)
    failures = metrics.total(asked, "status", [str(status) for status in range(500, 600)])
    return {
        "worker": str(os.getpid()),
        "requests": metrics.total(asked),
        "recalls": recalls,
        "failures": failures,
    }
