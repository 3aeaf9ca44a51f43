"""MCP over standard input and output, for one desktop agent: one keep, one channel, one session."""

from __future__ import annotations

import logging
import secrets
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from truekeep.errors import InvalidRequest
from truekeep.serve.mcp.binding import Binding
from truekeep.serve.mcp.server import build_server
from truekeep.trust.origin import require
from truekeep.types import MEMBER, Standing

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.serve.capabilities import Permit
    from truekeep.serve.mcp.asking import Context
    from truekeep.serve.mcp.door import Door

OWNER = "user"


def bound(
    keep: Keep, *, channel: str, session: str | None = None, member: str | None = None, ask: bool = True
) -> Binding:
    """What a server over this keep is bound to. The agent never speaks over a channel whose words are the owner's."""
    if keep.channels.get(channel).standing is Standing.OWNER:
        raise InvalidRequest(
            "An agent cannot be given the owner's channel.",
            code="owner_channel",
            hint="Use --channel agent; what the person says yes to in their client is theirs.",
        )
    owner = f"{MEMBER}{member}" if member else OWNER
    if ask:
        person = keep.channels.get(owner)
        for capability in ("write", "confirm", "delete"):
            require(person, capability)
    name = session or f"mcp-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    begun = keep.session(name, member=member)
    return Binding(lambda: nullcontext(keep), channel, begun.name, owner if ask else None)


def serve(keep: Keep, binding: Binding, profile: str = "truekeep", door: Door | None = None) -> None:
    """Serve until the client leaves. Only the protocol goes to standard output; the log goes to standard error.

    ``door`` has answered the beginning of the connection already, and has the rest of it.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="truekeep mcp: %(levelname)s %(message)s")

    async def binder(_: Context, __: Permit) -> Binding:
        return binding

    async def run() -> None:
        server = build_server(binder, profile=profile)
        stdout = anyio.wrap_file(door.answers) if door else None
        async with stdio_server(stdout=stdout) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    with keep:
        anyio.run(run)
