"""Extraction waits for quiet, survives a crash at any step, and never promotes the same thing twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from truekeep.extract.conversation import Extraction, Message, Support
from truekeep.extract.jobs import (
    LEASE,
    MOST_ATTEMPTS,
    Job,
    Pace,
    Task,
    advanced,
    asked,
    candidate_key,
    failed,
    finished,
    next_moment,
    ready,
    released,
    taken,
    unpromoted,
    unread,
)

NOW = datetime(2025, 3, 11, 9, 30, tzinfo=UTC)
TASK = Task("s-1", "discrete")
PACE = Pace()
MESSAGES = tuple(Message(f"m{n}", "user", f"text {n}", NOW) for n in range(6))


def job() -> Job:
    return asked(None, TASK, NOW)


def test_a_job_waits_until_nothing_was_said_for_a_while() -> None:
    first = job()
    assert ready([first], NOW) == []
    again = asked(first, TASK, NOW + PACE.debounce / 2)
    assert ready([again], NOW + PACE.debounce) == []
    assert ready([again], NOW + PACE.debounce * 2) == [again]


def test_a_session_that_is_never_quiet_is_extracted_all_the_same() -> None:
    current, at = job(), NOW
    while at < NOW + PACE.longest:
        at += PACE.debounce / 2
        current = asked(current, TASK, at)
    assert ready([current], NOW + PACE.longest) == [current]


def test_a_job_that_a_worker_has_is_not_given_to_another() -> None:
    due = NOW + PACE.debounce
    assert ready([taken(job(), due, "w")], due) == []


def test_a_worker_that_crashed_leaves_its_job_to_the_next() -> None:
    due = NOW + PACE.debounce
    busy = taken(job(), due, "w")
    assert ready([busy], due + LEASE) == [busy]
    assert next_moment([busy]) == due + LEASE


def test_a_worker_that_stops_leaves_its_job_at_once_and_without_a_mark() -> None:
    due = NOW + PACE.debounce
    assert released(taken(job(), due, "w")) == job()


def test_only_what_came_after_the_last_message_that_was_read_is_read() -> None:
    assert unread(job(), MESSAGES) == MESSAGES
    assert unread(advanced(job(), "m2", NOW), MESSAGES) == MESSAGES[3:]
    assert unread(advanced(job(), "m5", NOW), MESSAGES) == ()


def test_a_session_that_was_deleted_and_filled_again_is_read_again() -> None:
    assert unread(advanced(job(), "gone", NOW), MESSAGES) == MESSAGES


def test_what_was_said_while_a_worker_was_at_it_keeps_the_job_waiting() -> None:
    busy = taken(job(), NOW, "w")
    meanwhile = asked(busy, TASK, NOW)
    assert finished(busy, busy.asks).state == "done"
    assert finished(meanwhile, busy.asks).state == "waiting"
    assert meanwhile.leased_by == "w"


def test_a_failure_brings_the_job_back_later_and_later_and_never_loses_it() -> None:
    current, at, pauses = job(), NOW, []
    for _ in range(MOST_ATTEMPTS - 1):
        current = failed(taken(current, at, "w"), "model_timeout", at)
        pauses.append(current.due - at)
        assert current.state == "waiting"
        at = current.due
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] <= timedelta(hours=3)
    stuck = failed(taken(current, at, "w"), "model_timeout", at)
    assert (stuck.state, stuck.code) == ("stuck", "model_timeout")
    assert ready([stuck], at + timedelta(days=1)) == []
    assert next_moment([stuck]) is None
    assert ready([asked(stuck, TASK, at)], at + PACE.debounce)


def test_a_queue_without_a_debounce_still_pauses_after_a_failure() -> None:
    at_once = Pace(timedelta(0), timedelta(0))
    assert failed(taken(job(), NOW, "w"), "x", NOW, at_once).due > NOW


def candidate(text: str, message: str = "m1") -> Extraction:
    return Extraction(text, (Support("quote", message),), "discrete")


def test_a_candidate_is_the_same_whatever_message_and_strategy_it_was_found_by() -> None:
    assert candidate_key(candidate("Fact")) == candidate_key(candidate("fact", "m2"))
    assert candidate_key(candidate("fact")) != candidate_key(candidate("another"))


def test_what_was_held_as_hearsay_does_not_keep_the_owners_word_out() -> None:
    assert candidate_key(candidate("fact"), "hearsay") != candidate_key(candidate("fact"), "owner")


def test_the_same_candidate_twice_in_one_reply_is_one() -> None:
    assert unpromoted(frozenset({"c"}), [("a", 1), ("a", 2), ("b", 3), ("c", 4)]) == {"a": 1, "b": 3}


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=12))
def test_a_crash_before_or_after_any_batch_reads_every_message_exactly_once(steps: Sequence[tuple[int, bool]]) -> None:
    stored, read = job(), []
    for size, crashes in [*steps, (len(MESSAGES), False)]:
        mine = taken(stored, NOW, "w")
        batch = unread(mine, MESSAGES)[:size]
        if crashes or not batch:
            continue  # nothing of the transaction happened
        read += [message.id for message in batch]
        stored = advanced(mine, batch[-1].id, NOW)
    assert read == [message.id for message in MESSAGES]
