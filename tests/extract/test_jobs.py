"""Extraction waits for quiet, survives a crash at any step, and never promotes the same thing twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from truekeep.extract.conversation import Conversation, Extraction, Message, Support
from truekeep.extract.jobs import (
    DEBOUNCE,
    LEASE,
    LONGEST_DELAY,
    MOST_ATTEMPTS,
    Job,
    asked,
    candidate_key,
    failed,
    finished,
    has_changed,
    promoted,
    ready,
    taken,
    unpromoted,
)

NOW = datetime(2025, 3, 11, 9, 30, tzinfo=UTC)
TALK = Conversation((Message("m1", "user", "I live in Porto.", NOW),))
CANDIDATES = [Extraction(f"fact {n}", (Support(f"quote {n}", "m1"),), "discrete") for n in range(5)]


def job() -> Job:
    return asked(None, "s-1", "discrete", NOW)


def test_a_job_waits_until_nothing_was_said_for_a_while() -> None:
    first = job()
    assert ready([first], NOW) == []
    again = asked(first, "s-1", "discrete", NOW + DEBOUNCE / 2)
    assert ready([again], NOW + DEBOUNCE) == []
    assert ready([again], NOW + DEBOUNCE * 2) == [again]


def test_a_session_that_is_never_quiet_is_extracted_all_the_same() -> None:
    current = job()
    at = NOW
    while at < NOW + LONGEST_DELAY:
        at += DEBOUNCE / 2
        current = asked(current, "s-1", "discrete", at)
    assert ready([current], NOW + LONGEST_DELAY) == [current]


def test_a_job_that_a_worker_has_is_not_given_to_another() -> None:
    due = NOW + DEBOUNCE
    busy = taken(job(), due)
    assert ready([busy], due) == []


def test_a_worker_that_crashed_leaves_its_job_to_the_next() -> None:
    due = NOW + DEBOUNCE
    busy = taken(job(), due)
    assert ready([busy], due + LEASE) == [busy]


def test_an_unchanged_conversation_is_skipped_and_a_changed_one_is_not() -> None:
    done = finished(job(), TALK)
    assert not has_changed(done, TALK)
    more = Conversation((*TALK.messages, Message("m2", "user", "And I like tea.", NOW)))
    assert has_changed(done, more)
    edited = Conversation((Message("m1", "web", "I live in Porto.", NOW),))
    assert has_changed(done, edited)


def test_a_failure_brings_the_job_back_later_and_later_and_never_loses_it() -> None:
    current, at, pauses = job(), NOW, []
    for _ in range(MOST_ATTEMPTS - 1):
        current = failed(taken(current, at), "model_timeout", at)
        pauses.append(current.due - at)
        assert current.state == "waiting"
        at = current.due
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] <= timedelta(hours=3)
    stuck = failed(taken(current, at), "model_timeout", at)
    assert (stuck.state, stuck.code) == ("stuck", "model_timeout")
    assert ready([stuck], at + timedelta(days=1)) == []
    assert ready([asked(stuck, "s-1", "discrete", at)], at + DEBOUNCE)


def test_what_was_promoted_stays_promoted_when_the_session_goes_on() -> None:
    done = finished(promoted(job(), CANDIDATES[0]), TALK)
    again = asked(done, "s-1", "discrete", NOW)
    assert unpromoted(again, CANDIDATES[:2]) == [CANDIDATES[1]]


def test_the_same_candidate_twice_in_one_reply_is_one() -> None:
    assert unpromoted(job(), [CANDIDATES[0], CANDIDATES[0]]) == [CANDIDATES[0]]


def test_the_same_words_from_another_message_are_another_candidate() -> None:
    other = Extraction("fact 0", (Support("quote 0", "m2"),), "discrete")
    assert candidate_key(other) != candidate_key(CANDIDATES[0])


@given(st.lists(st.integers(min_value=0, max_value=6), max_size=8))
def test_a_crash_after_any_number_of_promotions_promotes_each_candidate_exactly_once(crashes: Sequence[int]) -> None:
    stored, gate = job(), []
    for survives in [*crashes, len(CANDIDATES)]:
        for extraction in unpromoted(stored, CANDIDATES)[:survives]:
            gate.append(extraction.text)
            stored = promoted(stored, extraction)
    assert sorted(gate) == [f"fact {n}" for n in range(5)]
