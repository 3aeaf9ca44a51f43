"""One exchange with the service, without any input or output: what to send, how long to wait, and when to give up.

Everything the client does is a generator of steps. It yields what is to be done (``Send`` a request, ``Pause``) and is
sent what came of it; a shell that blocks and one that is asynchronous carry the same steps out. ``ServiceLine`` is the
line to one keep of a service: whose token a call goes out with, and how it is sent and answered.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn, TypeAlias, TypeVar
from urllib.parse import quote

from truekeep.client.answers import Members, ServiceReply, may_be_tried_again, read
from truekeep.errors import ConfigError, InvalidRequest, NotAllowed, ServiceUnreachable
from truekeep.trust.origin import keep_name

T = TypeVar("T")
KEEP_HEADER = "Truekeep-Keep"
_USABLE = re.compile(r"[!-~]{1,8000}", re.ASCII)


class BearerToken:
    """A secret. Whoever sends a request reveals it, and nobody else does."""

    __slots__ = ("_secret",)

    def __init__(self, secret: object) -> None:
        if not isinstance(secret, str) or not _USABLE.fullmatch(secret):
            raise ConfigError(
                "The token cannot be used.", code="invalid_token", hint="Make one with 'truekeep tokens add'."
            )
        self._secret = secret

    def authorization(self) -> str:
        """The header that shows it to the service."""
        return f"Bearer {self._secret}"

    def __repr__(self) -> str:
        return "Token(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token is not pickled")


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. The token is shown to the service only when it goes out."""

    method: str
    path: str
    token: BearerToken
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = True
    """Whether doing it twice is doing it once: it only reads, or it has a key."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
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
class RetryPatience:
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

    def pause(self, outcome: HttpAnswer | Failure, attempt: int) -> float:
        """How long to wait after an attempt: as the service says, else longer each time and never in step."""
        asked = _asked_for(outcome) if isinstance(outcome, HttpAnswer) else None
        if asked is not None:
            return asked
        longest = min(self.longest_pause, self.backoff * 2.0**attempt)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def exchanged(request: Request, patience: RetryPatience) -> Steps[HttpAnswer]:
    """The answer to a request, after as many attempts as are safe and as there is time for."""
    deadline = patience.clock() + patience.timeout
    attempt = 0
    while True:
        outcome: HttpAnswer | Failure = yield Send(request, max(0.001, deadline - patience.clock()))
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


def _is_worth_another(outcome: HttpAnswer | Failure, request: Request) -> bool:
    if isinstance(outcome, Failure):
        return request.is_repeatable or not outcome.was_sent
    return request.is_repeatable and may_be_tried_again(outcome.status, outcome.headers, outcome.body)


def _asked_for(answer: HttpAnswer) -> float | None:
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


@dataclass(frozen=True, slots=True)
class Caller:
    """A token, and what the service says that it is for."""

    token: BearerToken
    keep: str
    channel: str
    capabilities: frozenset[str]
    channel_capabilities: frozenset[str]
    signs_as: str

    def may(self, wanted: str, of_channel: str | None = None) -> bool:
        """Whether the token allows it, all of it where several are named, and the channel what goes with it."""
        is_allowed = self.capabilities.issuperset(wanted.split())
        return is_allowed and (of_channel is None or of_channel in self.channel_capabilities)


class ServiceLine:
    """Sends the calls of one client. It keeps nothing but what the service said of its tokens."""

    def __init__(self, tokens: tuple[BearerToken, ...], patience: RetryPatience, keep: str | None = None) -> None:
        self._tokens = tokens
        self._patience = patience
        self.keep = keep_name(keep) if keep is not None else None
        self._callers: tuple[Caller, ...] | None = None

    def callers(self) -> Steps[tuple[Caller, ...]]:
        """Every token with what it is for; the service is asked once."""
        if self._callers is None:
            found = []
            for token in self._tokens:
                reply = yield from self._sent(token, "GET", "/v1/identity", True)
                found.append(_caller(token, reply.members))
            if len({one.keep for one in found}) != 1:
                raise InvalidRequest("The tokens are for different keeps.", code="several_keeps")
            self._callers = tuple(found)
            self.keep = found[0].keep
        return self._callers

    def caller(self, capability: str, via: str | None = None, *, of_channel: str | None = None) -> Steps[Caller]:
        """The token to use: one of the channel that is named, and one that may. The channel is never another one."""
        known = yield from self.callers()
        named = [one for one in known if via in (None, one.channel)]
        if not named:
            raise NotAllowed(
                "No token of this client is for that channel.",
                code="channel_fixed",
                hint=f"A token fixes its channel ({', '.join(dict.fromkeys(one.channel for one in known))} here); "
                "add one with 'truekeep tokens add' and give it to the client as well.",
            )
        able = [one for one in named if one.may(capability, of_channel)]
        return (able or named)[0]

    def writer(self, via: str | None, capability: str = "write") -> Steps[Caller]:
        """The token to write with; which channel that is has to be said where there is a choice."""
        known = yield from self.callers()
        able = [one for one in known if one.may(capability)] or known
        if via is None and len({one.channel for one in able}) > 1:
            raise InvalidRequest(
                "This client has tokens of several channels.", code="via_missing", hint="Say which with via=…."
            )
        return (yield from self.caller(capability, via))

    def ask(
        self,
        caller: Caller,
        method: str,
        *path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        is_repeatable: bool = True,
    ) -> Steps[ServiceReply]:
        """Send one call. A key is made once a call and goes out with every attempt."""
        where = "/v1/" + "/".join(_segment(part) for part in path)
        pairs = tuple((name, str(value)) for name, value in (query or {}).items() if value is not None)
        more = {"Idempotency-Key": key, **(headers or {})} if key is not None else headers or {}
        content = encoded(body) if body is not None else None
        return (yield from self._sent(caller.token, method, where, is_repeatable, pairs, content, more))

    def _sent(
        self,
        token: BearerToken,
        method: str,
        path: str,
        is_repeatable: bool,
        query: tuple[tuple[str, str], ...] = (),
        body: bytes | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Steps[ServiceReply]:
        headers = {KEEP_HEADER: self.keep} if self.keep is not None else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        request = Request(method, path, token, query, body, headers | dict(more or {}), is_repeatable)
        answer = yield from exchanged(request, self._patience)
        return read(answer.status, answer.headers, answer.body)


def new_key(request: str | None = None) -> str:
    """A name for one logical call; the caller's own name for it if there is one, so that it holds across processes."""
    if request is None:
        return secrets.token_urlsafe(24)
    return "request-" + hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as JSON."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest("What is passed must be plain JSON.", code="not_json") from None


def _segment(part: str) -> str:
    """One part of a path; an id cannot lead anywhere else."""
    if not isinstance(part, str) or not part or part in (".", "..") or len(part) > 1_000:
        raise InvalidRequest("That id or name cannot be used.", code="invalid_id")
    try:
        return quote(part, safe="")
    except UnicodeEncodeError:
        raise InvalidRequest("That id or name cannot be used.", code="invalid_id") from None


def _caller(token: BearerToken, held: Mapping[str, Any]) -> Caller:
    members = Members(held)
    if held.get("channel_capabilities", ()) is None:
        raise InvalidRequest(
            "This token covers several keeps, and none is named.", code="keep_not_named", hint="Say which with keep=…."
        )
    return Caller(
        token=token,
        keep=members.text("keep"),
        channel=members.text("channel"),
        capabilities=frozenset(members.texts("capabilities")),
        channel_capabilities=frozenset(members.texts("channel_capabilities")),
        signs_as=members.text("signs_as"),
    )
