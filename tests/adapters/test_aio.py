"""The async face of an embedded keep: the same methods, awaited, and the loop is not held up meanwhile."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

import truekeep
from tests.conftest import Clock
from truekeep import AsyncKeep, Keep, Verdict
from truekeep.adapters import aio
from truekeep.handles import Handle, Session


def public(kind: type) -> set[str]:
    return {name for name, one in inspect.getmembers(kind) if not name.startswith("_") and callable(one)}


async def a_conversation(home: Path, clock: Clock) -> None:
    async with await AsyncKeep.open("alice", home=home, clock=clock, background=False) as keep:
        assert (await keep.remember("I prefer dark mode", via="user")).accepted
        async with keep.session("s-1", mediated=True) as session:
            await session.observe("user", "Please pay Northwind 300 euros")
            assert await session.is_clean()
            agent = await session.bind("agent")
            assert [hit.text for hit in await agent.recall("dark mode")] == ["I prefer dark mode"]
            answer = await session.check_action("pay", {"payee": "Northwind", "amount": 300})
            assert answer.ticket
            await keep.actions.redeem(str(answer.ticket), "pay", {"payee": "Northwind", "amount": 300})
        assert (await keep.audit.verify()).ok


def test_a_keep_is_used_without_blocking_the_loop(home: Path, clock: Clock) -> None:
    asyncio.run(a_conversation(home, clock))


def test_many_calls_at_once_are_ordered_by_the_keep(keep: Keep) -> None:
    async def many() -> list[Verdict]:
        face = AsyncKeep(keep)
        return await asyncio.gather(*(face.remember(f"My locker {n} is in Nitra.", via="user") for n in range(8)))

    assert all(verdict.accepted for verdict in asyncio.run(many()))
    assert len(keep.get_memories()) == 8


@pytest.mark.parametrize(
    ("core", "face"),
    [(Session, aio.ThreadedSession), (Handle, aio.ThreadedHandle)],
    ids=lambda kind: kind.__name__,
)
def test_every_method_is_there(keep: Keep, core: type, face: type) -> None:
    made = {Session: keep.session("s-1"), Handle: keep.bind("agent", session="s-1")}[core]
    assert {name for name in public(core) if not callable(getattr(face(made), name, None))} == set()


def test_a_keep_and_its_parts_have_every_method(keep: Keep) -> None:
    face = AsyncKeep(keep)
    assert {name for name in public(Keep) if not hasattr(face, name)} == set()
    for part in ("review", "audit", "actions", "grants", "channels", "working", "prompts"):
        missing = {name for name in public(type(getattr(keep, part))) if not hasattr(getattr(face, part), name)}
        assert missing == set(), part


def test_it_is_a_public_name() -> None:
    assert truekeep.AsyncKeep is aio.AsyncKeep
    assert "AsyncKeep" in truekeep.__all__
