"""Bodies: read whole before a request is worked on, within caps and a time, and only of whom is known."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from truekeep.serve.entrance import Admission
from truekeep.serve.problem import problem
from truekeep.serve.settings import ServeSettings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_FORM_CAP = 4_096
"""Bytes that are read of somebody who is not known yet: a sign-in has a token and an address to go on to."""


class RequestRefused(Exception):
    """A request that is answered at the edge."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(code)
        self.answer = problem(status, code, detail, headers={"Connection": "close"})


class Bodies:
    """The bodies that one worker holds, and how much of them is whose."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self.held = 0
        self._of: Counter[str] = Counter()

    @asynccontextmanager
    async def read(self, scope: Scope, receive: Receive, admission: Admission) -> AsyncIterator[bytes]:
        """The whole body of a request, held until the block ends."""
        cap = self._cap(scope, admission)
        parts: list[bytes] = []
        size = 0
        try:
            try:
                async with asyncio.timeout(self._settings.body_seconds):
                    async for part in _parts(receive):
                        parts.append(part)
                        size += len(part)
                        self._hold(admission.payer, len(part))
                        self._require_room(admission.payer, size, cap)
            except TimeoutError:
                raise RequestRefused(408, "body_too_slow", "The request did not arrive in time.") from None
            body, parts = b"".join(parts), []
            yield body
        finally:
            self._hold(admission.payer, -size)

    def _cap(self, scope: Scope, admission: Admission) -> int:
        """How much is read at most; whoever has to be refused is refused before that."""
        headers = dict(scope["headers"])
        announced = headers.get(b"content-length", b"")
        has_body = announced.strip(b"0") != b"" or b"transfer-encoding" in headers
        cap = self._settings.body_cap
        if admission.identity is None and has_body:
            if admission.refusal is not None:
                raise admission.refusal
            cap = min(cap, _FORM_CAP)
        if announced.isdigit() and (len(announced) > 18 or int(announced) > cap):
            raise _too_large(cap)
        return cap

    def _require_room(self, payer: str, size: int, cap: int) -> None:
        if size > cap:
            raise _too_large(cap)
        if self._of[payer] > self._settings.bodies_per_token:
            raise RequestRefused(429, "too_much_at_once", "Too much of what you sent is waiting already.")
        if self.held > self._settings.bodies_cap:
            raise RequestRefused(503, "service_busy", "The service holds as many requests as it can.")

    def _hold(self, payer: str, size: int) -> None:
        self.held += size
        self._of[payer] += size
        if not self._of[payer]:
            del self._of[payer]


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise RequestRefused(400, "body_cut_off", "The request ended before its body did.")
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _too_large(cap: int) -> RequestRefused:
    return RequestRefused(413, "body_too_large", f"A request's body has at most {cap:,} bytes.")
