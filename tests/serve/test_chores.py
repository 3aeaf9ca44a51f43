"""Background work: done by one process, written down in the keeps, and found again after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.serve.test_pool import KEYWORDS, identity
from truekeep.extract.conversation import Message
from truekeep.keep import now
from truekeep.serve.capabilities import Permit
from truekeep.serve.chores import Chores
from truekeep.serve.pool import Pool

EAGER = replace(KEYWORDS, learn_debounce_seconds=0.0, learn_delay_seconds=0.0)

WRITES = Permit((), makes=True)


class Watch:
    """A clock for the hours between rounds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def pool(home: Path) -> Iterator[Pool]:
    made = Pool(home, settings=EAGER, size=3)
    yield made
    made.close()


def say(pool: Pool, keep: str, text: str) -> None:
    with pool.handle(identity("*"), keep, permit=WRITES) as lease:
        lease.keep.working.append("s-1", Message("m-1", "user", text, now(), role="user"))
        lease.keep.extraction.queue("s-1", "discrete", via="user")


def kept(pool: Pool, keep: str) -> list[str]:
    with pool.handle(identity("*"), keep, permit=WRITES) as lease:
        return [one["content"] for one in lease.handle.get_memories()]


def test_what_was_queued_is_done_after_a_restart(pool: Pool, home: Path) -> None:
    say(pool, "alice", "I am allergic to peanuts.")
    pool.close()
    again = Pool(home, settings=EAGER)
    try:
        assert kept(again, "alice") == []
        Chores(again, 1.0).round()
        assert any("peanuts" in text for text in kept(again, "alice"))
    finally:
        again.close()


def test_keeps_that_were_closed_to_make_room_are_looked_at_too(pool: Pool) -> None:
    chores = Chores(pool, 1.0)
    chores.round()
    for number in range(6):
        say(pool, f"k{number}", "I am allergic to peanuts.")
        chores.round()
    for _ in range(3):
        chores.round()
    assert [len(kept(pool, f"k{number}")) for number in range(6)] == [1] * 6


def test_of_two_workers_one_does_the_chores_and_the_other_takes_over(pool: Pool) -> None:
    first, second = Chores(pool, 1.0), Chores(pool, 1.0)
    assert first._is_mine()
    assert not second._is_mine()
    first.stop()
    assert second._is_mine()
    second.stop()


def test_a_keep_that_cannot_be_opened_keeps_no_other_from_being_looked_at(pool: Pool, home: Path) -> None:
    say(pool, "bob", "I am allergic to peanuts.")
    say(pool, "ann", "I am allergic to peanuts.")
    pool.close()
    (home / "data" / "ann.db").write_bytes(b"not a database")
    again = Pool(home, settings=EAGER)
    try:
        Chores(again, 1.0).round()
        assert len(kept(again, "bob")) == 1
    finally:
        again.close()


def test_memories_that_say_the_same_are_merged_once_in_so_many_hours(pool: Pool) -> None:
    watch = Watch()
    chores = Chores(pool, 1.0, merge_hours=24.0, clock=watch)
    with pool.handle(identity("*"), "alice", permit=WRITES) as lease:
        for _ in range(2):
            lease.handle.remember("My bike is red.")
    chores.round()
    assert len(kept(pool, "alice")) == 2  # a restart does not merge everything at once
    watch.now += 25 * 3_600
    chores.round()
    assert len(kept(pool, "alice")) == 1
