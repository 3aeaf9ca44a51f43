"""Shells: a core's steps as methods that block, or as methods that are awaited."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from truekeep.client.exchange import Steps
from truekeep.client.wires import AsyncWire, BlockingWire
from truekeep.errors import NotServed

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")


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


_EMBEDDED_ONLY = frozenset(
    {
        "actors",
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
