"""MCP over streamable HTTP: the same server for every token, each request bound to what its token says.

An agent's token writes and reads as its channel may, and nobody is asked: it cannot claim to be the owner by answering
for them. With the *owner's* token (a person's, or a member's) the agent still speaks over the channel ``agent``, and
what the person says yes to in their client is theirs, because the token is.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.serve.bodies import parsed
from truekeep.serve.capabilities import Permit
from truekeep.serve.edge import TURN, replayed
from truekeep.serve.mcp.asking import Context
from truekeep.serve.mcp.binding import Binding
from truekeep.serve.mcp.server import build_server
from truekeep.serve.mcp_sessions import McpSessions
from truekeep.serve.problem import problem, problem_of
from truekeep.serve.service import Service, ServiceCall, identified
from truekeep.serve.turns import Turn
from truekeep.trust.origin import AGENT, own_principal, session_name
from truekeep.types import MEMBER, Channel, Standing

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

    from truekeep.keep import Keep

PATH = "/mcp"
SESSION_HEADER = "truekeep-session"
_CALL = "truekeep.call"
_VERSION = re.compile(rb"[0-9A-Za-z.-]{0,40}")
_ANY_TOKEN = Permit(())
"""To connect takes a token; what each tool takes is asked when it is called."""
_BODY_CAP, _IDLE_SECONDS = 1_000_000, 1_800.0
_AGREED = "Send the version that the server agreed to when the connection was opened."


def mount(app: FastAPI, service: Service) -> None:
    """Serve MCP at ``/mcp`` of the application, for as long as it lives."""
    is_one_process = service.settings.processes <= 1

    async def binder(context: Context, permit: Permit) -> Binding:
        request = cast(Request, context.request)
        call: ServiceCall = replace(request.scope[_CALL], permit=permit)
        permit.require(call.identity.capabilities)
        if service.tracing is not None:
            service.tracing.go_on(request.scope)
        turn: Turn = request.scope[TURN]
        async with turn.held():
            return await anyio.to_thread.run_sync(lambda: _bound(request, call, may_ask=is_one_process))

    def note(tool: str, answer: str) -> None:
        service.metrics.count("truekeep_tools_total", tool=tool, answer=answer)

    manager = StreamableHTTPSessionManager(
        app=build_server(binder, note=note),
        # A session of the older protocol lives in one process; with several, each request stands for itself.
        stateless=not is_one_process,
        session_idle_timeout=_IDLE_SECONDS if is_one_process else None,
        max_request_body_size=_BODY_CAP,
        max_sessions=None,  # they are shared out below
    )
    sessions = McpSessions(manager, service.settings) if is_one_process else None
    app.router.routes.append(Route(PATH, endpoint=_Door(manager, sessions)))
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
    sessions: McpSessions | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = SimpleNamespace(path=PATH)
        try:
            call = identified(Request(scope), _ANY_TOKEN)
            call = replace(call, keep_name=call.identity.keep(call.keep_name))
        except TruekeepError as error:
            await problem_of(error)(scope, receive, send)
            return
        body = await _body(receive)
        refused = await _refused(scope, body)
        if refused is not None:
            await refused(scope, receive, send)
            return
        # The transport keeps each session to the user who began it: another token's is as unknown as none.
        token = AccessToken(token="", client_id=call.identity.token_id, scopes=[], subject=_holder(call))
        known = {**scope, _CALL: call, "user": AuthenticatedUser(token)}
        if scope["method"] == "GET":
            scope[TURN].give_back()  # a stream that is open for as long as the client likes is no work
        if self.sessions is not None:
            send = self.sessions.noting(call.identity.token_id, known, send)
        await self.manager.asgi_app(known, replayed(body, receive), send)


async def _body(receive: Receive) -> bytes:
    """The request's body; the edge has read it whole, within its cap."""
    return bytes((await receive()).get("body", b""))


async def _refused(scope: Scope, body: bytes) -> Response | None:
    """Why the transport is not given a request. Its own refusals would repeat what was sent."""
    version = next((value for name, value in scope["headers"] if name == b"mcp-protocol-version"), b"")
    if not _VERSION.fullmatch(version):
        return problem(400, "invalid_protocol_version", "The header MCP-Protocol-Version cannot be used.", hint=_AGREED)
    if scope["method"] != "POST":
        return None
    if len(body) > _BODY_CAP:
        return problem(413, "body_too_large", f"A message has at most {_BODY_CAP:,} bytes.", hint="Send less at once.")
    try:
        jsonrpc_message_adapter.validate_python(await parsed(body), by_name=False)
    except InvalidRequest as error:
        return problem_of(error)
    except ValidationError:
        return problem(
            400, "invalid_message", "That is no message of JSON-RPC 2.0.", hint="Use a client that speaks MCP."
        )
    return None


def _bound(request: Request, call: ServiceCall, *, may_ask: bool) -> Binding:
    """What a request may do, by its token alone. Headers only say in which session."""
    identity = call.identity

    @contextmanager
    def lease() -> Iterator[Keep]:
        with call.lease() as leased:
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
        turn=request.scope[TURN],
    )


def _holder(call: ServiceCall) -> str:
    """Who is connected: tokens of one subject that allow different things are different holders."""
    identity = call.identity
    return " ".join((identity.token_id, identity.channel, str(call.keep_name), *sorted(identity.capabilities)))


def _session(request: Request, keep: Keep, channel: Channel) -> str:
    """The session that the client's configuration names, else one for each connection, or for each token."""
    call: ServiceCall = request.scope[_CALL]
    named = request.headers.get(SESSION_HEADER)
    connection = request.headers.get("mcp-session-id", "")[:32]
    name = session_name(named or f"mcp-{call.identity.token_id}{'-' if connection else ''}{connection}")
    if channel.name.startswith(MEMBER):
        keep.session(name, member=own_principal(channel))
    return name
