"""Channels: the ways into a keep, listed, enrolled and retired by an administrator."""

from __future__ import annotations

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from truekeep.serve.rest.models import Body, Name, Reason
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller

router = resource("/v1/channels", "channels")


class ChannelOut(BaseModel):
    """A way in."""

    name: str
    standing: str | None = None
    capabilities: list[str]
    state: str
    model_config = ConfigDict(extra="allow")


class ChannelList(BaseModel):
    """Every way in."""

    channels: list[ChannelOut]


class EnrolBody(Body):
    """A system, or with ``member:NAME`` a person, that gets a channel of its own."""

    name: Name
    reason: Reason
    capabilities: list[Name] | None = Field(default=None, max_length=20)


class Retire(Body):
    """Why a way in is closed."""

    reason: Reason


@router.get("", response_model=ChannelList)
@router.get("/", include_in_schema=False)
def list_channels(call: Caller) -> Response:
    """Every channel with its standing and what it may do."""
    with call.lease() as lease:
        return JSONResponse({"channels": lease.keep.channels.list()})


@router.post("", status_code=201, response_model=ChannelOut)
def enrol(body: EnrolBody, call: Caller) -> Response:
    """Let a system write over a channel of its own. What it says stands as enrolled."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            made = lease.keep.channels.enrol(
                body.name, by=call.reviewer, reason=body.reason, capabilities=body.capabilities
            )
        shown = {"name": made.name, "capabilities": sorted(made.capabilities), "state": "enrolled"}
        return JSONResponse(shown | {"standing": made.standing.label if made.standing is not None else None}, 201)

    return call.once(do)


@router.post("/{name}/retire", response_model=ChannelOut)
def retire(name: str, body: Retire, call: Caller) -> Response:
    """Close a way in. What came over it stays as it is."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            channel = lease.keep.channels.get(name)
            lease.keep.channels.retire(name, by=call.reviewer, reason=body.reason)
        shown = {"name": channel.name, "capabilities": sorted(channel.capabilities), "state": "retired"}
        return JSONResponse(shown | {"standing": channel.standing.label if channel.standing is not None else None})

    return call.once(do)
