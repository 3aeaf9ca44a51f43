"""Running the proxy: the server as a child or by its address, the agent over standard input or over HTTP."""

from __future__ import annotations

import hmac
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp_types import ToolListChangedNotification

from truekeep.adapters.mediator import Mediator
from truekeep.protect.proxy.child import child_transport
from truekeep.protect.proxy.held import HeldTools
from truekeep.protect.proxy.relay import relay
from truekeep.protect.proxy.server import Proxy
from truekeep.protect.proxy.shadow import ShadowWatch
from truekeep.protect.proxy.upstream import Upstream
from truekeep.trust import fence

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

    from truekeep.keep import Keep
    from truekeep.protect.proxy.maps import MemoryMap
    from truekeep.serve.mcp.binding import Binding


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """What the operator says about a server."""

    server: str
    command: Sequence[str] = ()
    url: str = ""
    bearer: str = ""
    passed: Sequence[str] = ()
    memory: MemoryMap | None = None
    trust: bool = False
    first_use: bool = True
    seconds: float = 300.0


SHADOW_WARNING = "shadow mode: nothing is held, marked or denied; every call is passed on, and only counted"


def say(text: str) -> None:
    """Tell the operator something; standard output belongs to the protocol."""
    print(f"truekeep protect mcp: {fence.one_line(text)}", file=sys.stderr, flush=True)


@asynccontextmanager
async def proxied(keep: Keep, binding: Binding, options: ProxyOptions) -> AsyncIterator[Proxy]:
    """The proxy over a server that was reached and whose tools were looked at."""
    there: list[Proxy] = []

    async def heard(message: Any) -> None:
        # Notices of the server go nowhere; that its tools have changed only has them looked at again.
        if isinstance(message, ToolListChangedNotification):
            for proxy in there:
                proxy.stale()

    client = Client(_transport(options), mode="auto" if options.url else "legacy", message_handler=heard, cache=None)
    async with client:
        upstream = Upstream(client, most_chars=keep.settings.observe_cap, seconds=options.seconds)
        held = HeldTools(keep, options.server, first_use=options.first_use)
        mediator = Mediator(keep, trust_hints=options.trust, learn=False)
        proxy = Proxy(binding, mediator, upstream, held, memory=options.memory, trust=options.trust)
        await proxy.offered()
        there.append(proxy)
        yield proxy


def _transport(options: ProxyOptions) -> Any:
    if not options.url:
        return child_transport(options.command, options.passed, say)
    return _http(options.url, options.bearer)


@asynccontextmanager
async def _http(url: str, bearer: str) -> AsyncIterator[Any]:
    from truekeep.protect.proxy.remote import http_client  # noqa: PLC0415 - what it needs comes with the protocol's library

    async with http_client(bearer) as http, streamable_http_client(url, http_client=http) as streams:
        yield streams


def serve_shadow(opening: Callable[[], tuple[Keep, str]], options: ProxyOptions) -> int:
    """Pass everything on unchanged and count; ``opening`` gives the keep and the session, and may fail."""

    def watcher() -> ShadowWatch:
        keep, session = opening()
        return ShadowWatch(
            keep, session, options.server, memory=options.memory, trust=options.trust, first_use=options.first_use
        )

    _quiet()
    say(SHADOW_WARNING)
    return relay(options.command, options.passed, watcher)


def serve_stdio(keep: Keep, binding: Binding, options: ProxyOptions) -> None:
    """Serve until the client leaves."""

    async def run() -> None:
        async with proxied(keep, binding, options) as proxy, stdio_server() as (incoming, outgoing):
            server = proxy.build()
            await server.run(incoming, outgoing, server.create_initialization_options())

    _quiet()
    with keep:
        anyio.run(run)


def serve_http(keep: Keep, binding: Binding, options: ProxyOptions, host: str, port: int, token: str) -> None:
    """Serve clients that know the token, over loopback, until the process is ended."""
    import uvicorn  # noqa: PLC0415 - an extra

    async def run() -> None:
        async with proxied(keep, binding, options) as proxy:
            app = guarded(proxy.build(), host, token)
            config = uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False)
            await uvicorn.Server(config).serve()

    _quiet()
    with keep:
        anyio.run(run)


def guarded(server: Server[Any], host: str, token: str) -> ASGIApp:
    """The server over HTTP, for whoever sends the token; any program on this machine can reach a port."""
    app = server.streamable_http_app(host=host)
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(given, wanted):
            await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return checked


def _quiet() -> None:
    """Our own log goes to standard error, and nobody else's: libraries repeat a server's words, as long as they are."""
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(logging.Formatter("truekeep protect mcp: %(levelname)s %(message)s"))
    shown.addFilter(logging.Filter("truekeep"))
    logging.basicConfig(handlers=[shown], level=logging.WARNING)
