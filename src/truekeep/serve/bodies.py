"""Bodies: read whole before a request is worked on, within caps and a time, and only of whom is known.

Their JSON is read once and strictly, within limits that nobody further on has to think about.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread

from truekeep.errors import InvalidRequest
from truekeep.serve.arrival import ARRIVAL, Arrival
from truekeep.serve.entrance import Admission
from truekeep.serve.problem import problem
from truekeep.serve.settings import ServeSettings
from truekeep.text.view import GIVE_WAY
from truekeep.trust.candidate import require_plain

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LATER = "Wait for the answers to what is under way, then send it again."
_FORM_CAP = 4_096
"""Bytes that are read of somebody who is not known yet: a sign-in has a token and an address to go on to."""


_BACKUP = re.compile(r"/console/k/[^/]+/backups/look")
"""Where a whole backup is sent to, in one piece."""


class RequestRefused(Exception):
    """A request that is answered at the edge."""

    def __init__(self, status: int, code: str, detail: str, hint: str) -> None:
        super().__init__(code)
        self.answer = problem(status, code, detail, hint=hint, headers={"Connection": "close"})


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
        seconds = self._settings.body_seconds * max(1, cap // self._settings.body_cap)
        parts: list[bytes] = []
        size = 0
        try:
            try:
                async with scope.get(ARRIVAL, Arrival()).within(seconds):
                    async for part in _parts(receive):
                        parts.append(part)
                        size += len(part)
                        self._hold(admission.payer, len(part))
                        self._require_room(admission.payer, size, cap)
            except TimeoutError:
                raise RequestRefused(
                    408, "body_too_slow", "The request did not arrive in time.", "Send it again."
                ) from None
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
        if admission.identity is not None and admission.identity.may("admin") and _BACKUP.fullmatch(scope["path"]):
            cap = max(cap, self._settings.backup_cap)
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
        if self._of[payer] > max(self._settings.bodies_per_token, cap):
            raise RequestRefused(429, "too_much_at_once", "Too much of what you sent is waiting already.", LATER)
        if self.held > self._settings.bodies_cap:
            raise RequestRefused(503, "service_busy", "The service holds as many requests as it can.", LATER)

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
            raise RequestRefused(400, "body_cut_off", "The request ended before its body did.", "Send it again.")
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _too_large(cap: int) -> RequestRefused:
    return RequestRefused(413, "body_too_large", f"A request's body has at most {cap:,} bytes.", "Send it in parts.")


_NOT_JSON = "The body is not JSON."
_MOST_VALUES = 60_000
"""A batch of a thousand memories has a third of it. While the parser makes values nothing else in the process runs, and
two megabytes of brackets are a million of them."""
_SMALL = 16_384
"""Bytes that are parsed faster than they are handed to a thread."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


async def parsed(body: bytes) -> Any:
    """The value of a body, read beside the event loop if it is large."""
    return read_json(body) if len(body) <= _SMALL else await anyio.to_thread.run_sync(read_json, body)


def read_json(body: bytes) -> Any:
    """The value of a body. NaN, numbers out of range, lone surrogates and deep nesting are no JSON here."""
    _require_few(body)
    give_way = GIVE_WAY.get()
    give_way()  # nothing else runs while the parser does
    try:
        value = json.loads(body, parse_constant=_refused)
    except RecursionError:
        raise InvalidRequest(_NOT_JSON, code="nested_too_deep", hint="It is nested too deeply.") from None
    except ValueError:  # also bytes that are no UTF-8, and numbers with more digits than Python reads
        raise InvalidRequest(_NOT_JSON, code="body_not_json", hint="Send one JSON object, as UTF-8.") from None
    give_way()
    require_plain(value, "body")
    return value


def _require_few(body: bytes) -> None:
    """Count values by their marks before one is made: all marks if they are few, else those outside of texts."""
    if _marks(body) <= _MOST_VALUES:
        return
    if body.count(b'"') > 2 * _MOST_VALUES or _marks(_STRING.sub(b"", body)) > _MOST_VALUES:
        hint = f"At most {_MOST_VALUES:,} values; send it in parts."
        raise InvalidRequest("The body has too many values.", code="too_many_values", hint=hint)


def _marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _refused(_: str) -> Any:
    raise ValueError
