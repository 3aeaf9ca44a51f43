"""The pool: many keeps in one process, never more open than allowed, none closed under whoever uses it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from truekeep.config import Settings
from truekeep.errors import KeepClosed, NotAllowed, ServiceBusy, UnknownId
from truekeep.serve.capabilities import Permit
from truekeep.serve.identity import Identity
from truekeep.serve.pool import Pool

KEYWORDS = Settings(embedder="none")

WRITES, READS = Permit((), makes=True), Permit(())


def identity(pattern: str, *may: str, channel: str = "user") -> Identity:
    return Identity("t", pattern, channel, frozenset(may or ("read", "write")))


@pytest.fixture
def pool(home: Path) -> Iterator[Pool]:
    made = Pool(home, settings=KEYWORDS, size=3)
    yield made
    made.close()


def test_a_lease_is_bound_to_the_tokens_channel(pool: Pool) -> None:
    with pool.handle(identity("alice", channel="web"), session="s-1", permit=WRITES) as lease:
        assert (lease.handle.channel, lease.handle.session) == ("web", "s-1")
        with pytest.raises(NotAllowed):
            lease.handle.recall("anything")


def test_no_more_keeps_are_open_than_allowed_and_all_keep_what_they_were_told(pool: Pool) -> None:
    for number in range(7):
        with pool.handle(identity("*"), f"k{number}", permit=WRITES) as lease:
            assert lease.handle.remember(f"I live in street {number}").accepted
        assert len(pool.open_names()) <= 3
    for number in range(7):
        with pool.handle(identity("*"), f"k{number}", permit=WRITES) as lease:
            assert [one["content"] for one in lease.handle.get_memories()] == [f"I live in street {number}"]
    assert pool.names() == [f"k{number}" for number in range(7)]


def test_a_keep_in_use_is_not_closed_to_make_room(pool: Pool) -> None:
    with pool.handle(identity("*"), "busy", permit=WRITES) as held:
        for number in range(4):
            with pool.handle(identity("*"), f"k{number}", permit=WRITES):
                pass
        assert held.handle.remember("I prefer dark mode").accepted


def test_when_every_keep_is_in_use_one_more_is_refused_and_not_waited_for(pool: Pool) -> None:
    with (
        pool.handle(identity("*"), "a", permit=WRITES),
        pool.handle(identity("*"), "b", permit=WRITES),
        pool.handle(identity("*"), "c", permit=WRITES),
        pytest.raises(ServiceBusy),
        pool.handle(identity("*"), "d", permit=WRITES),
    ):
        pass


def test_a_reader_with_a_pattern_makes_no_keeps(pool: Pool, home: Path) -> None:
    with pytest.raises(UnknownId), pool.handle(identity("*"), "nobody", permit=READS):
        pass
    assert pool.names() == []


def test_many_threads_share_one_opening(pool: Pool) -> None:
    barrier = threading.Barrier(8)

    def write(number: int) -> None:
        barrier.wait()
        with pool.handle(identity("alice"), permit=WRITES) as lease:
            lease.handle.remember(f"My locker has the number {number}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert pool.opened == 1
    with pool.handle(identity("alice"), permit=WRITES) as lease:
        assert len(lease.handle.get_memories()) == 8


def test_a_closed_pool_opens_nothing(pool: Pool) -> None:
    pool.close()
    with pytest.raises(KeepClosed), pool.handle(identity("alice"), permit=WRITES):
        pass
