"""The wire: one call as a value, its answer as the library's own values, and when to send it again. No I/O here."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx

from truekeep.errors import (
    InvalidRequest,
    InvalidText,
    NotAllowed,
    NotAuthenticated,
    ServiceBusy,
    StoreError,
    TicketRefused,
    TruekeepError,
    UnknownId,
)

T = TypeVar("T")
_ERRORS: dict[int, type[TruekeepError]] = {
    400: InvalidRequest,
    401: NotAuthenticated,
    403: NotAllowed,
    404: UnknownId,
    409: TicketRefused,
    412: InvalidRequest,
    413: InvalidRequest,
    422: InvalidText,
    428: InvalidRequest,
    429: ServiceBusy,
    503: ServiceBusy,
}
_AGAIN = frozenset({429, 502, 503, 504})
_CODES_AGAIN = frozenset({"request_in_progress"})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and what its answer becomes."""

    method: str
    path: str
    parse: Callable[[Any], T]
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    rejections: bool = False
    """Whether a rejected text is an answer, as it is for ``Keep.remember``, and no error."""
    via: str | None = None
    """The channel it must go over; the token of that channel is taken."""
    needs: str = "read"
    """Without a channel: what the token must allow."""

    def request(self) -> dict[str, Any]:
        """What httpx is told. A write gets a key under which it can be sent again without being done twice."""
        key = {} if self.method == "GET" else {"Idempotency-Key": uuid.uuid4().hex}
        params = {name: value for name, value in self.params.items() if value is not None}
        body = None if self.body is None else {name: one for name, one in self.body.items() if one is not None}
        return {
            "method": self.method,
            "url": self.path,
            "params": params,
            "json": body,
            "headers": {**self.headers, **key},
        }


def answer(call: Call[T], response: httpx.Response) -> T:
    """The answer's value, or the error that the service reported."""
    body = _body(response)
    if response.status_code < 400 or (call.rejections and response.status_code == 422 and "decision" in body):
        return call.parse(body)
    kind = _ERRORS.get(response.status_code, StoreError)
    told = str(body.get("detail") or f"The service answered with {response.status_code}.")
    raise kind(told, code=str(body.get("code") or kind.code), hint=str(body.get("hint") or ""))


def is_to_be_sent_again(response: httpx.Response) -> bool:
    """Whether the service asks for patience."""
    return response.status_code in _AGAIN or (
        response.status_code == 409 and _body(response).get("code") in _CODES_AGAIN
    )


def pause(attempt: int) -> float:
    """How long to wait before an attempt: longer each time, and not all clients at once."""
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * float(2**attempt))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def unreachable(error: httpx.HTTPError) -> ServiceBusy:
    """The service did not answer."""
    return ServiceBusy(
        "The service cannot be reached.", code="service_unreachable", hint=f"Is it running? {type(error).__name__}."
    )


def _body(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
