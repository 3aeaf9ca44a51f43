"""The edge: what every request passes before a resource sees it, and every answer on its way out.

It asks who sends it, by the headers; reads the whole body, within a cap and a time, so that a slow or endless client
costs neither a thread nor a keep; waits for the sender's turn; takes ``/keeps/NAME`` off the path; names the request;
and counts and logs what became of it. An answer leaves in pieces, so that only a piece of it lies in buffers.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response

from truekeep.errors import ServiceBusy, TruekeepError
from truekeep.serve.bodies import LATER, App, Bodies, Message, Receive, RequestRefused, Scope, Send
from truekeep.serve.entrance import ADMISSION, Admission, Entrance
from truekeep.serve.limits import Shares
from truekeep.serve.logs import ERROR, INFO, log_event
from truekeep.serve.pace import Lane, LoopPace, task_factory
from truekeep.serve.problem import CODE, problem, problem_of
from truekeep.serve.protocol import GONE
from truekeep.serve.sender import Sender, sender_of
from truekeep.serve.service import KEEP, Service
from truekeep.serve.turns import Turns

REQUEST = "truekeep.request"
IDENTITY = "truekeep.identity"
TURN = "truekeep.turn"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_KEEPS = "/keeps/"
_HEALTH = "/v1/health"
_PIECE = 65_536
"""Bytes of an answer that are handed to the connection at a time."""
_PENALTY_SECONDS = 0.5
"""How long a refusal waits that was asked for too often."""
_SAFE = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class Edge:
    """The outermost layer of the service."""

    def __init__(self, app: App, service: Service, entrance: Entrance) -> None:
        self.settings = service.settings
        self.idle: Shares[Any] = Shares(0)
        """Connections on which nothing is under way, by their peers; where one is wanted, one of them gives way."""
        self.pace = LoopPace()
        """How much of the event loop each caller takes up; the wire asks it before a request begins."""
        self._app = app
        self._service = service
        self._entrance = entrance
        self._turns = Turns(self.settings.threads, self.settings.threads_per_token)
        self._under_way: Counter[str] = Counter()
        self._bodies = Bodies(self.settings)
        metrics = service.metrics
        metrics.describe("truekeep_requests_total", "Requests, by method, route and status.")
        metrics.describe("truekeep_problems_total", "Refusals and failures, by method, route and code.")
        metrics.gauge("truekeep_open_keeps", "Keeps held open.", lambda: float(len(service.pool.open_names())))
        metrics.gauge("truekeep_ready", "Whether it takes requests.", lambda: float(not service.drain.is_on))
        metrics.gauge("truekeep_body_bytes", "Bytes of request bodies held now.", lambda: float(self._bodies.held))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                asyncio.get_running_loop().set_task_factory(task_factory)
                await self._app(scope, receive, send)
            return
        await _Passage(self, scope, receive, send).go()

    def peer(self, client: Any) -> str:
        """Whom what comes over a connection is charged to until somebody is known."""
        return self._entrance.peer(client)

    def lane(self, client: Any, headers: list[tuple[bytes, bytes]]) -> Lane:
        """Whose pace a request goes at."""
        return self.pace.lane(self._entrance.payer(client, headers))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission = await self._entrance.admit(scope)
        payer = admission.payer
        self._under_way[payer] += 1
        try:
            if self._under_way[payer] > self.settings.requests_at_once:
                raise RequestRefused(429, "too_many_at_once", "Too many requests are under way already.", LATER)
            await self._admitted(scope, receive, send, admission)
        finally:
            self._under_way[payer] -= 1
            if not self._under_way[payer]:
                del self._under_way[payer]

    async def _admitted(self, scope: Scope, receive: Receive, send: Send, admission: Admission) -> None:
        await self._count(scope, admission.payer)
        if scope["method"] not in _SAFE and sender_of(Headers(scope=scope)) is Sender.FOREIGN_PAGE:
            # A browser adds credentials it remembers to whatever a page has it send.
            detail = "This came from a page elsewhere, so nothing was done."
            raise RequestRefused(
                403, "cross_origin", detail, "Send it from a program, or from the service's own pages."
            )
        scope[ADMISSION] = admission
        scope[IDENTITY] = admission.identity
        turn = scope[TURN] = self._turns.turn(admission.payer)
        async with self._bodies.read(scope, receive, admission) as body:
            await turn.take()
            try:
                if GONE in scope and scope[GONE]():  # nobody waits for it any more
                    raise RequestRefused(400, "client_left", "The client left before its turn came.", LATER)
                await self._app(_within_keep(scope), replayed(body, receive), send)
            finally:
                turn.give_back()

    async def _count(self, scope: Scope, payer: str) -> None:
        """Every request counts against its payer's rate, but for the question whether the service is there."""
        if scope["path"] == _HEALTH:
            return
        try:
            self._service.buckets.take(payer)
        except ServiceBusy:
            # Who asks again at once must not be refused as fast as they can ask: that would cost as much as an answer.
            await asyncio.sleep(_PENALTY_SECONDS)
            raise


class _Passage:
    """One request on its way through."""

    def __init__(self, edge: Edge, scope: Scope, receive: Receive, send: Send) -> None:
        self._edge = edge
        self._scope = dict(scope)
        self._receive = receive
        self._send = send
        self._status = 0
        self._code = ""
        """The code of the problem that it was answered with."""
        self._id = _request_id(scope)
        self._scope[REQUEST] = self._id

    async def go(self) -> None:
        tracing = self._edge._service.tracing
        if tracing is None:
            await self._gone()
            return
        with tracing.request(self._scope) as span:
            method, route, failure = await self._gone()
            tracing.answered(span, method, route, self._status, failure)

    async def _gone(self) -> tuple[str, str, str]:
        """The request's method, its route and what failed, if anything did."""
        started = time.perf_counter()
        failure = ""
        try:
            await self._edge._serve(self._scope, self._receive, self._sending)
        except RequestRefused as refused:
            await self._answer(refused.answer)
        except TruekeepError as error:
            await self._answer(problem_of(error))
        except Exception as error:
            failure = type(error).__name__
            hint = f"Request {self._id}."
            await self._answer(problem(500, "internal_error", "Something went wrong here.", hint=hint))
        finally:
            named = self._note(time.perf_counter() - started, failure)
        return (*named, failure)

    async def _answer(self, response: Response) -> None:
        """What is told instead, unless an answer has begun."""
        if not self._status:
            await response(self._scope, self._receive, self._sending)

    async def _sending(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = list(message.get("headers", ()))
            self._code = next((value.decode() for name, value in headers if name == CODE), "")
            headers = [pair for pair in headers if pair[0] != CODE]
            sent = {name for name, _ in headers}
            headers += [pair for pair in _HEADERS if pair[0] not in sent]
            if self._edge._service.drain.is_on and b"connection" not in sent:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": [*headers, (b"x-request-id", self._id.encode())]}
            self._give_back_turn(dict(headers))
        for piece in _pieces(message):
            await self._send(piece)

    def _give_back_turn(self, headers: dict[bytes, bytes]) -> None:
        """To read an answer that is all there takes no turn. A stream, whose end nobody knows, is still being made."""
        turn = self._scope.get(TURN)
        if turn is not None and b"content-length" in headers:
            turn.give_back()

    def _note(self, seconds: float, failure: str) -> tuple[str, str]:
        # Only the route's template is kept: a path may hold names and ids.
        route = getattr(self._scope.get("route"), "path", "other")
        method, status = self._scope["method"], str(self._status)
        method = method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE") else "other"
        self._edge._service.metrics.count("truekeep_requests_total", method=method, route=route, status=status)
        if self._code:
            self._edge._service.metrics.count("truekeep_problems_total", method=method, route=route, code=self._code)
        self._edge._service.metrics.took(seconds, route=route)
        identity = self._scope.get(IDENTITY)
        level = ERROR if self._status >= 500 or failure else INFO
        members = {"request": self._id, "method": method, "route": route, "status": self._status}
        members |= {"ms": round(seconds * 1000, 2), "token": getattr(identity, "token_id", None)}
        log_event("request", level, **members, **({"error": failure} if failure else {}))
        return method, route


def _pieces(message: Message) -> Iterator[Message]:
    body = message.get("body", b"")
    last = max(0, len(body) - 1) // _PIECE * _PIECE
    for start in range(0, last, _PIECE):
        yield {"type": message["type"], "body": body[start : start + _PIECE], "more_body": True}
    yield {**message, "body": body[last:]} if last else message


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


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, in one piece; after it whatever the client does next."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return pending.pop() if pending else await receive()

    return next_message
