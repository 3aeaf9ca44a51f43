"""The same keep three ways: embedded, over the client that blocks and over the asynchronous one, on a real server."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import KEYWORDS, Own, Served, running, served, service
from truekeep import Keep
from truekeep.client import AsyncKeep
from truekeep.client import Keep as ServedKeep
from truekeep.client.wires import Asynchronous

__all__ = ["served", "service"]
WAYS = ("embedded", "served", "async")
ROLES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("user", ("read", "write", "delete"), ""),
    ("agent", ("read", "write"), ""),
    ("web", ("write",), ""),
    ("outcomes", ("credit",), ""),
    ("reviewer:eva", ("review",), "eva"),
    ("user", ("read", "admin", "delete"), "operator"),
    ("user", ("custom-prompts",), "tom"),
)
"""The tokens of a host program that does everything: one for each channel and task."""


class Awaiting:
    """An asynchronous client as a test that blocks sees it: every coroutine is run to its end."""

    def __init__(self, target: Any, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return self._call(found) if callable(found) else self._wrapped(found)

    def __enter__(self) -> Awaiting:
        return self

    def __exit__(self, *error: object) -> None:
        ends = getattr(self._target, "end", None) or self._target.close
        self._runner.run(ends())

    def _call(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            return self._wrapped(self._runner.run(_awaited(result)) if inspect.isawaitable(result) else result)

        return call

    def _wrapped(self, value: Any) -> Any:
        return Awaiting(value, self._runner) if isinstance(value, Asynchronous) else value


async def _awaited(result: Any) -> Any:
    return await result


def tokens_of(served: Served, keep: str = "alice") -> list[str]:
    return [served.tokens.add(keep, channel, may, subject=subject)[0] for channel, may, subject in ROLES]


@pytest.fixture
def client(served: Own) -> Iterator[ServedKeep]:
    with ServedKeep(served.address, token=tokens_of(served, served.name)) as keep:
        yield keep


ASKED = replace(KEYWORDS, learn="off")
"""A service learns in the background, at a moment of its own; here both do what they are asked and nothing else."""


def opened(way: str, home: Path) -> Iterator[Any]:
    if way == "embedded":
        with Keep.open("alice", home=home, settings=ASKED) as keep:
            yield keep
        return
    with running(home, ASKED) as service:
        given = tokens_of(service)
        if way == "served":
            with ServedKeep(service.address, token=given) as served_keep:
                yield served_keep
            return
        with asyncio.Runner() as runner, Awaiting(AsyncKeep(service.address, token=given), runner) as awaiting:
            yield awaiting


@pytest.fixture(params=WAYS)
def any_keep(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    yield from opened(request.param, tmp_path / request.param)
