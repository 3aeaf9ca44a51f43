"""Wires carry steps out over httpx; shells turn a core's steps into methods that block, or that are awaited.

Of each there are two, one that blocks and one that is asynchronous; neither knows what the steps are about.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from truekeep.client.answers import ANSWER_CAP
from truekeep.client.endpoint import ServiceEndpoint, httpx_library
from truekeep.client.exchange import Failure, HttpAnswer, Send, Steps
from truekeep.errors import AnswerRefused, InvalidRequest, KeepClosed, NotServed

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
P = ParamSpec("P")
_EMBEDDED_ONLY = frozenset(
    {
        "actors",
        "blank_forgotten",
        "browse",
        "describe",
        "destroy",
        "exported",
        "extraction",
        "kinds",
        "open",
        "page",
        "reach",
        "reindex",
        "rejected_sources",
        "remember_batches",
        "require_approved",
        "settings",
        "sources",
        "sweep",
        "weigh",
        "writes_by_day",
    }
)
"""What a keep and its parts have besides; docs/client.md says of each why a service does not offer it."""


class BlockingWire:
    """Carries steps out and waits for them."""

    def __init__(self, endpoint: ServiceEndpoint) -> None:
        self._endpoint = endpoint
        self._http: httpx.Client | None = httpx_library().Client(**endpoint.options())

    def run(self, steps: Steps[T]) -> T:
        """Carry the steps out until they come to a result."""
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            outcome = None
            if isinstance(step, Send):
                outcome = self._send(step)
            else:
                time.sleep(step.seconds)

    def close(self) -> None:
        """Let go of the connections; closing twice is fine."""
        http, self._http = self._http, None
        if http is not None:
            http.close()

    def _send(self, step: Send) -> HttpAnswer | Failure:
        http, deadline = _opened(self._http), time.monotonic() + step.seconds
        try:
            with http.stream(**self._endpoint.arguments(step)) as response:
                body = bytearray()
                for chunk in _uncompressed(response).iter_raw():
                    _take(body, chunk, deadline)
                return _answer(response, body)
        except httpx_library().HTTPError as error:
            failure = _failure(error)
        return failure


class AsyncWire:
    """Carries steps out without blocking."""

    def __init__(self, endpoint: ServiceEndpoint) -> None:
        self._endpoint = endpoint
        self._http: httpx.AsyncClient | None = httpx_library().AsyncClient(**endpoint.options())

    async def run(self, steps: Steps[T]) -> T:
        """Carry the steps out until they come to a result."""
        import anyio  # noqa: PLC0415 - comes with httpx

        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            outcome = await (self._send(step) if isinstance(step, Send) else anyio.sleep(step.seconds))

    async def close(self) -> None:
        """Let go of the connections; closing twice is fine."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def _send(self, step: Send) -> HttpAnswer | Failure:
        import anyio  # noqa: PLC0415 - comes with httpx

        http, deadline = _opened(self._http), time.monotonic() + step.seconds
        try:
            with anyio.fail_after(step.seconds):
                async with http.stream(**self._endpoint.arguments(step)) as response:
                    body = bytearray()
                    async for chunk in _uncompressed(response).aiter_raw():
                        _take(body, chunk, deadline)
                    return _answer(response, body)
        except TimeoutError:
            failure = Failure(was_sent=True, word="no answer in time")
        except httpx_library().HTTPError as error:
            failure = _failure(error)
        return failure


def _opened(http: T | None) -> T:
    if http is None:
        raise KeepClosed("The client was closed.", hint="Make a new one.")
    return http


def _uncompressed(response: httpx.Response) -> httpx.Response:
    # A compressed answer could unfold to any size, and none was asked for.
    if response.headers.get("content-encoding", "identity") != "identity":
        raise AnswerRefused("A compressed answer came back, which was not asked for.", code="compressed_answer")
    return response


def _take(body: bytearray, chunk: bytes, deadline: float) -> None:
    body += chunk
    if len(body) > ANSWER_CAP:
        raise AnswerRefused(f"The answer is over {ANSWER_CAP:,} bytes.", code="answer_too_large")
    if time.monotonic() > deadline:
        raise httpx_library().ReadTimeout("")


def _answer(response: httpx.Response, body: bytearray) -> HttpAnswer:
    return HttpAnswer(
        response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(body)
    )


def _failure(error: Exception) -> Failure:
    """What happened, in our own words: an exception of the library holds the request, and with it the token."""
    library = httpx_library()
    if isinstance(error, library.ConnectError | library.ConnectTimeout | library.PoolTimeout):
        return Failure(was_sent=False, word="no connection")
    if isinstance(error, library.TimeoutException):
        return Failure(was_sent=True, word="no answer in time")
    if isinstance(error, library.UnsupportedProtocol | library.InvalidURL):
        raise InvalidRequest("The service's address cannot be used.", code="invalid_address") from None
    return Failure(was_sent=True, word="the connection broke")


class Blocking(Generic[C_co]):
    """An object whose methods block; what they do is its core's."""

    def __init__(self, wire: BlockingWire, core: C_co) -> None:
        self._wire = wire
        self._core = core

    def __getattr__(self, name: str) -> Any:
        raise unknown(type(self), name)


class Asynchronous(Generic[C_co]):
    """An object whose methods are awaited; what they do is its core's."""

    def __init__(self, wire: AsyncWire, core: C_co) -> None:
        self._wire = wire
        self._core = core

    def __getattr__(self, name: str) -> Any:
        raise unknown(type(self), name)


def blocking(method: Callable[Concatenate[C, P], Steps[T]]) -> Callable[Concatenate[Blocking[C], P], T]:
    """A core's method as one that blocks."""

    @functools.wraps(method)
    def call(self: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._wire.run(method(self._core, *args, **kwargs))

    return call


def awaited(
    method: Callable[Concatenate[C, P], Steps[T]],
) -> Callable[Concatenate[Asynchronous[C], P], Coroutine[Any, Any, T]]:
    """A core's method as one that is awaited."""

    @functools.wraps(method)
    async def call(self: Asynchronous[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._wire.run(method(self._core, *args, **kwargs))

    return call


def unknown(kind: type, name: str) -> AttributeError:
    """What is said of an attribute that is not there: embedded keeps have some that a service does not offer."""
    if name in _EMBEDDED_ONLY and not name.startswith("_"):
        return NotServed("Only an embedded keep does this; the service does not offer it.")
    return AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
