"""One exchange with the service, without any input or output: what to send, how long to wait, and when to give up.

Everything the client does is a generator of steps. It yields what is to be done (``Send`` a request, ``Pause``) and is
sent what came of it; a shell that blocks and one that is asynchronous carry the same steps out.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias, TypeVar

from truekeep.client.answers import may_be_tried_again
from truekeep.client.token import Token
from truekeep.errors import InvalidRequest, ServiceUnreachable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. The token is shown to the service only when it goes out."""

    method: str
    path: str
    token: Token
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = True
    """Whether doing it twice is doing it once: it only reads, or it has a key."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, within the cap."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """Nothing came back."""

    was_sent: bool
    """Whether the service may have done it."""
    word: str


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request, and wait so long for the whole answer."""

    request: Request
    seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the next attempt."""

    seconds: float


Step: TypeAlias = Send | Pause
Steps: TypeAlias = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try, and how often."""

    timeout: float = 30.0
    """Seconds for one call as a whole, with every attempt and every pause."""
    retries: int = 3
    backoff: float = 0.1
    longest_pause: float = 10.0
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= 3_600 or not 0 <= self.retries <= 20 or isinstance(self.retries, bool):
            raise InvalidRequest(
                "The client tries for up to an hour, and up to 20 times more.", code="invalid_patience"
            )

    def pause(self, outcome: Answer | Failure, attempt: int) -> float:
        """How long to wait after an attempt: as the service says, else longer each time and never in step."""
        asked = _asked_for(outcome) if isinstance(outcome, Answer) else None
        if asked is not None:
            return asked
        longest = min(self.longest_pause, self.backoff * 2.0**attempt)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def exchanged(request: Request, patience: Patience) -> Steps[Answer]:
    """The answer to a request, after as many attempts as are safe and as there is time for."""
    deadline = patience.clock() + patience.timeout
    attempt = 0
    while True:
        outcome: Answer | Failure = yield Send(request, max(0.001, deadline - patience.clock()))
        if not _is_worth_another(outcome, request) or attempt >= patience.retries:
            break
        pause = patience.pause(outcome, attempt)
        if patience.clock() + pause >= deadline:
            break
        yield Pause(pause)
        attempt += 1
    if isinstance(outcome, Failure):
        raise _unreachable(outcome, request)
    return outcome


def _is_worth_another(outcome: Answer | Failure, request: Request) -> bool:
    if isinstance(outcome, Failure):
        return request.is_repeatable or not outcome.was_sent
    return request.is_repeatable and may_be_tried_again(outcome.status, outcome.headers, outcome.body)


def _asked_for(answer: Answer) -> float | None:
    """What ``Retry-After`` says, in seconds or as a date."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text) if len(text) < 8 else float("inf")
    try:
        moment = parsedate_to_datetime(text)
        return max(0.0, moment.timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _unreachable(failure: Failure, request: Request) -> ServiceUnreachable:
    is_write = request.method not in ("GET", "HEAD")
    if failure.was_sent and is_write:
        return ServiceUnreachable(
            f"The service did not answer: {failure.word}. Whether it did what was asked is not known.",
            code="answer_missing",
            hint="Look before you ask again, or name the batch with request=… so that it is stored once.",
        )
    return ServiceUnreachable(f"The service cannot be reached: {failure.word}.")
