"""Sessions of MCP's older protocol: shared out among tokens, because each of them costs memory while it lasts.

The library that serves them has one bound for all. Here every token has a share; whoever begins one more ends the one
that they used longest ago, as if they had said so themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from truekeep.serve.limits import Shares
from truekeep.serve.settings import ServeSettings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Message, Scope, Send

_ID = b"mcp-session-id"
_KEPT = ("type", "path", "user", "http_version")


class McpSessions:
    """The sessions of one worker, by their tokens. Used from the event loop only."""

    def __init__(self, manager: StreamableHTTPSessionManager, settings: ServeSettings) -> None:
        self._manager = manager
        self._shares: Shares[str] = Shares(settings.mcp_sessions, settings.mcp_sessions_per_token)
        self._scopes: dict[str, Scope] = {}
        """How each of them can be ended: as whoever began it."""

    def noting(self, token: str, scope: Scope, send: Send) -> Send:
        """What notes, on the way of an answer, which session it begins or ends."""
        named = _session(scope["headers"])
        if named is not None and self._shares.holder(named) == token:
            self._shares.use(token, named)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._note(token, scope, _session(message.get("headers", ())), message["status"])
            await send(message)

        return noted

    async def _note(self, token: str, scope: Scope, told: str | None, status: int) -> None:
        named = _session(scope["headers"])
        is_over = status == 404 or (scope["method"] == "DELETE" and status < 400)
        if named is None and told is not None and status < 400:
            # Only now that it has begun: what is refused ends nobody's.
            await self._make_room(token)
            self._shares.use(token, told)
            self._scopes[told] = {name: scope[name] for name in _KEPT if name in scope}
        elif named is not None and is_over and self._shares.holder(named) == token:
            self._drop(named)

    def _drop(self, session: str) -> None:
        self._shares.drop(session)
        self._scopes.pop(session, None)

    async def _make_room(self, token: str) -> None:
        """End what is in the way. A session that the library let go of meanwhile is ended again, which does nothing."""
        while (oldest := self._shares.in_the_way(token)) is not None:
            begun = self._scopes[oldest]
            scope = {**begun, "method": "DELETE", "headers": [(_ID, oldest.encode("latin-1"))], "query_string": b""}
            self._drop(oldest)
            await self._manager.asgi_app(scope, _nothing, _nowhere)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nowhere(message: Message) -> None:
    del message


def _session(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == _ID), None)
