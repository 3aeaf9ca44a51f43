"""The edge: what every request passes before a resource sees it, and every answer on its way out.

It reads the whole body, within a cap and a time, so that a slow or endless client costs neither a thread nor a keep;
takes ``/keeps/NAME`` off the path; names the request; and counts and logs what became of it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from truekeep.serve.logs import LOGGER
from truekeep.serve.metrics import Metrics
from truekeep.serve.problem import problem
from truekeep.serve.settings import ServeSettings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

KEEP = "truekeep.keep"
REQUEST = "truekeep.request"
IDENTITY = "truekeep.identity"
_log = logging.getLogger(LOGGER)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_KEEPS = "/keeps/"
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class Refused(Exception):
    """A request that is answered at the edge."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(code)
        self.answer = problem(status, code, detail, headers={"Connection": "close"})


class Edge:
    """The outermost layer of the service."""

    def __init__(self, app: App, settings: ServeSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._held = 0
        metrics.describe("truekeep_requests_total", "Requests, by method, route and status.")
        metrics.gauge("truekeep_body_bytes", "Bytes of request bodies held now.", lambda: float(self._held))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        await _Passage(self, scope, receive, send).go()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                await self._read(scope, receive, body)
        except TimeoutError:
            await Refused(408, "body_too_slow", "The request did not arrive in time.").answer(scope, receive, send)
            return
        except Refused as refused:
            await refused.answer(scope, receive, send)
            return
        try:
            await self._app(_within_keep(scope), _replay(bytes(body), receive), send)
        finally:
            self._held -= len(body)

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> None:
        cap = self._settings.body_cap
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if announced.isdigit() and (len(announced) > 18 or int(announced) > cap):
            raise Refused(413, "body_too_large", f"A request's body has at most {cap:,} bytes.")
        more = True
        try:
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refused(400, "body_cut_off", "The request ended before its body did.")
                part = message.get("body", b"")
                self._held += len(part)
                body += part
                more = message.get("more_body", False)
                if len(body) > cap:
                    raise Refused(413, "body_too_large", f"A request's body has at most {cap:,} bytes.")
                if self._held > self._settings.bodies_cap:
                    raise Refused(503, "service_busy", "The service holds as many requests as it can.")
        except BaseException:
            self._held -= len(body)
            raise


class _Passage:
    """One request on its way through."""

    def __init__(self, edge: Edge, scope: Scope, receive: Receive, send: Send) -> None:
        self._edge = edge
        self._scope = dict(scope)
        self._receive = receive
        self._send = send
        self._status = 0
        self._id = _request_id(scope)
        self._scope[REQUEST] = self._id

    async def go(self) -> None:
        started = time.perf_counter()
        failure = ""
        try:
            await self._edge._serve(self._scope, self._receive, self._sending)
        except Exception as error:
            failure = type(error).__name__
            if not self._status:
                answer = problem(500, "internal_error", "Something went wrong here.", hint=f"Request {self._id}.")
                await answer(self._scope, self._receive, self._sending)
        finally:
            self._note(time.perf_counter() - started, failure)

    async def _sending(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = list(message.get("headers", ()))
            sent = {name for name, _ in headers}
            headers += [pair for pair in _HEADERS if pair[0] not in sent]
            message = {**message, "headers": [*headers, (b"x-request-id", self._id.encode())]}
        await self._send(message)

    def _note(self, seconds: float, failure: str) -> None:
        # Only the route's template is kept: a path may hold names and ids.
        route = getattr(self._scope.get("route"), "path", "other")
        method, status = self._scope["method"], str(self._status)
        method = method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE") else "other"
        self._edge._metrics.count("truekeep_requests_total", method=method, route=route, status=status)
        self._edge._metrics.took(seconds, route=route)
        identity = self._scope.get(IDENTITY)
        level = logging.ERROR if self._status >= 500 or failure else logging.INFO
        if _log.isEnabledFor(level):
            members = {"request": self._id, "method": method, "route": route, "status": self._status}
            members |= {"ms": round(seconds * 1000, 2), "token": getattr(identity, "token_id", None)}
            _log.log(level, "request", extra=members | ({"error": failure} if failure else {}))


def _request_id(scope: Scope) -> str:
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _within_keep(scope: Scope) -> Scope:
    """``/keeps/NAME/v1/…`` is ``/v1/…`` in that keep. Clients that take a base address only can name a keep so."""
    path: str = scope["path"]
    if path.startswith(_KEEPS):
        name, slash, rest = path[len(_KEEPS) :].partition("/")
        scope[KEEP] = name
        scope["path"] = slash + rest
        scope["raw_path"] = (slash + rest).encode("utf-8", "surrogateescape")
    return scope


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, in one piece; after it whatever the client does next."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return pending.pop() if pending else await receive()

    return next_message
