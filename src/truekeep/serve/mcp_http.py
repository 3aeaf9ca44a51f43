"""MCP over streamable HTTP: the same server for every token, each request bound to what its token says.

An agent's token writes and reads as its channel may, and nobody is asked: it cannot claim to be the owner by answering
for them. With the *owner's* token (a person's, or a member's) the agent still speaks over the channel ``agent``, and
what the person says yes to in their client is theirs, because the token is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.routing import Route

from truekeep.errors import TruekeepError
from truekeep.keep import Keep
from truekeep.origin import AGENT, own_principal, session_name
from truekeep.serve.mcp.asking import Context
from truekeep.serve.mcp.binding import Binding
from truekeep.serve.mcp.server import build_server
from truekeep.serve.problem import problem_of
from truekeep.serve.service import Call, Service, identified
from truekeep.types import MEMBER, Channel, Standing

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

PATH = "/mcp"
SESSION_HEADER = "truekeep-session"
_CALL = "truekeep.call"
_BODY_CAP, _MOST_SESSIONS, _IDLE_SECONDS = 1_000_000, 1_000, 1_800.0


def mount(app: FastAPI, service: Service) -> None:
    """Serve MCP at ``/mcp`` of the application, for as long as it lives."""
    is_one_process = service.settings.workers <= 1

    async def binder(context: Context) -> Binding:
        request = cast(Request, context.request)
        return await anyio.to_thread.run_sync(lambda: _bound(request, may_ask=is_one_process))

    manager = StreamableHTTPSessionManager(
        app=build_server(binder),
        # A session of the older protocol lives in one process; with several, each request stands for itself.
        stateless=not is_one_process,
        session_idle_timeout=_IDLE_SECONDS if is_one_process else None,
        max_request_body_size=_BODY_CAP,
        max_sessions=_MOST_SESSIONS,
    )
    app.router.routes.append(Route(PATH, endpoint=_Door(manager)))
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(served: Any) -> AsyncIterator[Any]:
        async with inner(served) as state, manager.run():
            yield state

    app.router.lifespan_context = lifespan


@dataclass(frozen=True, slots=True)
class _Door:
    """Lets in who has a token, and tells the transport who it is."""

    manager: StreamableHTTPSessionManager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = SimpleNamespace(path=PATH)
        try:
            call = identified(Request(scope))
            call = replace(call, keep_name=call.identity.keep(call.keep_name))
        except TruekeepError as error:
            await problem_of(error)(scope, receive, send)
            return
        # The transport keeps each session to the user who began it: another token's is as unknown as none.
        token = AccessToken(token="", client_id=call.identity.token_id, scopes=[], subject=_holder(call))
        await self.manager.asgi_app({**scope, _CALL: call, "user": AuthenticatedUser(token)}, receive, send)


def _bound(request: Request, *, may_ask: bool) -> Binding:
    """What a request may do, by its token alone. Headers only say in which session."""
    call: Call = request.scope[_CALL]
    identity = call.identity

    @contextmanager
    def lease() -> Iterator[Keep]:
        with call.open() as leased:
            yield leased.keep

    with lease() as keep:
        channel = keep.channels.get(identity.channel)
        session = _session(request, keep, channel)
    is_person = channel.standing is Standing.OWNER
    can_say_yes = is_person and may_ask and identity.may("write") and channel.may("confirm")
    return Binding(
        lease=lease,
        channel=AGENT if is_person else channel.name,
        session=session,
        owner=channel.name if can_say_yes else None,
        holder=_holder(call),
        allowed=identity.capabilities,
    )


def _holder(call: Call) -> str:
    """Who is connected: tokens of one subject that allow different things are different holders."""
    identity = call.identity
    return " ".join((identity.token_id, identity.channel, str(call.keep_name), *sorted(identity.capabilities)))


def _session(request: Request, keep: Keep, channel: Channel) -> str:
    """The session that the client's configuration names, else one for each connection, or for each token."""
    call: Call = request.scope[_CALL]
    named = request.headers.get(SESSION_HEADER)
    connection = request.headers.get("mcp-session-id", "")[:32]
    name = session_name(named or f"mcp-{call.identity.token_id}{'-' if connection else ''}{connection}")
    if channel.name.startswith(MEMBER):
        keep.session(name, member=own_principal(channel))
    return name
