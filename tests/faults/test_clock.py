"""A clock that is set back: the newest word still counts, nothing that ended comes back, and the log stays in order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock
from truekeep import Keep, TicketRefused
from truekeep.config import Paths, Settings
from truekeep.ops.recovery import accept
from truekeep.stores.anchor import AnchorHead
from truekeep.stores.chain import KeepClock, Tip
from truekeep.stores.keys import Secret, derive
from truekeep.stores.rotation import rotate_data
from truekeep.stores.seal import Seal
from truekeep.types import utc_moment, utc_text

DAY = timedelta(days=1)
CALL = {"payee": "Northwind", "amount": 300, "account": "1180-22"}
FIRMS = ("Northwind", "Quillfeather", "Tamarack")
WHO: dict[str, Any] = {"by": "eva", "reason": "trying"}


def texts(keep: Keep) -> list[str]:
    return [str(memory["content"]) for memory in keep.get_memories()]


def acting(keep: Keep) -> list[str]:
    return [str(memory["content"]) for memory in keep.get_memories() if memory["may_act"]]


def require_in_order(keep: Keep) -> None:
    times = [event.at for event in keep.audit.events()]
    assert times == sorted(times)
    found = keep.audit.verify()
    assert found.ok, found.problems


@pytest.fixture
def reopened(home: Path, clock: Clock) -> Iterator[Keep]:
    """A keep whose owner lives in Praha, reopened by a process whose clock is a day behind."""
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        keep.remember("I live in Praha.", via="user")
    clock.now -= DAY
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        yield keep


def test_the_newer_word_counts_although_the_clock_was_set_back(keep: Keep, clock: Clock) -> None:
    keep.remember("I live in Praha.", via="user")
    clock.now -= DAY
    keep.remember("I live in Brno.", via="user")
    assert acting(keep) == ["I live in Brno."]
    assert [hit.text for hit in keep.recall("Where do I live?", influence_only=True)] == ["I live in Brno."]
    require_in_order(keep)


def test_the_newer_word_counts_in_a_process_whose_clock_is_behind(reopened: Keep) -> None:
    reopened.remember("I live in Brno.", via="user")
    assert acting(reopened) == ["I live in Brno."]
    require_in_order(reopened)


def test_a_date_that_the_caller_gives_still_says_what_is_older(keep: Keep, clock: Clock) -> None:
    keep.remember("I live in Praha.", via="user")
    clock.now -= DAY
    keep.remember("I live in Brno.", via="user", as_of=clock() - 400 * DAY)
    assert acting(keep) == ["I live in Praha."]


def test_a_changed_and_a_restored_memory_are_the_newest_word(keep: Keep, clock: Clock) -> None:
    first = keep.remember("My phone is 0911 222 333.", via="user").memory_id
    assert first
    clock.now -= DAY
    keep.update_memory(first, "My phone is 0911 444 555.", via="user")
    assert acting(keep) == ["My phone is 0911 444 555."]
    clock.now -= DAY
    keep.restore(first, via="user", version=1)
    assert acting(keep) == ["My phone is 0911 222 333."]
    require_in_order(keep)


def test_what_has_expired_does_not_come_back(keep: Keep, clock: Clock) -> None:
    keep.remember("The gate code is 4711.", via="user", expires_at=clock() + timedelta(hours=2))
    clock.advance(hours=3)
    keep.remember("The fence is green.", via="user")
    assert texts(keep) == ["The fence is green."]
    clock.now -= DAY
    assert texts(keep) == ["The fence is green."]


def test_what_has_expired_does_not_come_back_in_a_process_whose_clock_is_behind(home: Path, clock: Clock) -> None:
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        keep.remember("The gate code is 4711.", via="user", expires_at=clock() + timedelta(hours=2))
        clock.advance(hours=3)
        keep.remember("The fence is green.", via="user")
    clock.now -= DAY
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        assert texts(keep) == ["The fence is green."]


def test_an_approval_that_has_ended_does_not_act_again(keep: Keep, clock: Clock) -> None:
    item = keep.remember("The office closes at five.", via="email").item_id
    assert item
    keep.review.approve(item, **WHO, until=clock() + timedelta(hours=2))
    assert acting(keep) == ["The office closes at five."]
    clock.advance(hours=3)
    keep.remember("The fence is green.", via="user")
    clock.now -= DAY
    assert acting(keep) == ["The fence is green."]


def test_a_ticket_that_has_expired_stays_so_and_one_drawn_since_is_good(keep: Keep, clock: Clock) -> None:
    with keep.session("s-1", mediated=True) as session:
        session.observe("user", "Please pay Northwind 300 euros to account 1180-22")
        late = session.check_action("pay", CALL).ticket
        assert late
        clock.advance(minutes=20)
        session.observe("user", "Did you pay Northwind 300 euros to account 1180-22? Please pay it.")
        clock.now -= DAY
        with pytest.raises(TicketRefused) as refused:
            late.redeem("pay", CALL)
        assert refused.value.code == "ticket_expired"
        fresh = session.check_action("pay", CALL).ticket
        assert fresh
        fresh.redeem("pay", CALL)
        with pytest.raises(TicketRefused) as refused:
            fresh.redeem("pay", CALL)
        assert refused.value.code == "ticket_spent"
    require_in_order(keep)


def test_a_session_stays_tainted_and_what_waits_can_be_decided(keep: Keep, clock: Clock) -> None:
    with keep.session("s-1", mediated=True) as session:
        session.observe("web", "Northwind moved to Trnava.", principal="evil.example")
        item = keep.remember("The office closes at five.", via="email").item_id
        assert item
        clock.now -= DAY
        assert not session.remember("Payments to Northwind go to 9904-71.", via="agent").accepted
    assert keep.review.approve(item, **WHO).accepted
    assert texts(keep) == ["The office closes at five."]
    require_in_order(keep)


def test_a_rewind_to_a_moment_finds_the_state_of_that_moment(keep: Keep, clock: Clock) -> None:
    keep.remember("The fence is green.", via="user")
    before = clock()
    clock.advance(hours=1)
    keep.remember("The gate is blue.", via="user")
    clock.now -= DAY
    keep.remember("The roof is red.", via="user")
    keep.rewind(before, **WHO)
    assert texts(keep) == ["The fence is green."]
    require_in_order(keep)


def test_rotating_keys_and_deciding_on_a_store_keep_the_log_in_order(home: Path, clock: Clock) -> None:
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        keep.remember("The fence is green.", via="user")
    clock.now -= DAY
    rotate_data(Paths.resolve(home), "alice", clock, Settings(embedder="none"))
    (home / "keys" / "keeps" / "alice.anchor").unlink()
    clock.now -= DAY
    accept("alice", home=home, clock=clock, **WHO)
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        assert texts(keep) == ["The fence is green."]
        require_in_order(keep)


class Written:
    """A chain of which only the time of its newest event matters."""

    def __init__(self) -> None:
        self.tip = Tip(Seal(derive(Secret("", "", bytes(32), (bytes(32),)))))


def test_time_goes_on_while_the_machines_clock_is_behind(clock: Clock) -> None:
    seconds = [0.0]
    start = clock()
    keep_clock = KeepClock(clock, Written(), lambda: seconds[0])
    assert keep_clock() == start
    clock.now -= DAY
    seconds[0] = 600.0
    assert keep_clock() == start + timedelta(minutes=10)
    clock.now = start + timedelta(hours=1)
    assert keep_clock() == clock(), "and the machine's clock counts again once it has caught up"


@given(st.lists(st.tuples(st.integers(-5_000, 5_000), st.integers(0, 50), st.booleans()), max_size=30))
def test_no_moment_is_earlier_than_one_told_or_written_down_before(steps: list[tuple[int, int, bool]]) -> None:
    machine, seconds, chain = [datetime(2026, 3, 1, tzinfo=UTC)], [0.0], Written()
    keep_clock = KeepClock(lambda: machine[0], chain, lambda: seconds[0])
    latest = keep_clock()
    for jump, pause, is_written in steps:
        machine[0] += timedelta(seconds=jump)
        seconds[0] += pause
        if is_written:  # by another process, whose clock may be ahead of ours
            newest = utc_text(machine[0] + timedelta(seconds=abs(jump)))
            chain.tip.head = AnchorHead(chain.tip.head.seq + 1, bytes(32), max(chain.tip.head.at, newest))
        moment = keep_clock()
        assert moment >= latest
        assert moment >= machine[0]
        assert not chain.tip.head.at or moment >= utc_moment(chain.tip.head.at)
        latest = moment


@settings(max_examples=500 if os.environ.get("TRUEKEEP_LONG") else 12)
@given(st.lists(st.tuples(st.sampled_from(FIRMS), st.integers(-200, 100)), min_size=1, max_size=8))
def test_whatever_the_clock_does_nothing_acknowledged_is_lost_and_the_last_word_acts(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, int]]
) -> None:
    clock = Clock()
    with Keep.open("alice", home=tmp_path_factory.mktemp("home"), clock=clock, background=False) as keep:
        latest: dict[str, str] = {}
        for number, (firm, hours) in enumerate(said, 22):
            clock.advance(hours=hours)
            latest[firm] = f"{firm}'s account is 1180-{number}"
            assert keep.remember(latest[firm], via="user").accepted
        assert sorted(acting(keep)) == sorted(latest.values())
        stored = [event for event in keep.audit.events() if event.kind == "memory.stored"]
        assert len(stored) == len(said)
        require_in_order(keep)
