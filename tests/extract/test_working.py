"""A session keeps everything it was told until it ends; only the window onto it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import Message
from truekeep.extract.usage import estimated_tokens
from truekeep.extract.working import WorkingMemory, own_words, window

AT = datetime(2025, 3, 11, 9, 30, tzinfo=UTC)


def message(number: int, text: str = "hello", channel: str = "user") -> Message:
    return Message(f"m{number}", channel, text, AT, role="user")


def session(*messages: Message, budget: int | None = None, ttl: timedelta | None = None) -> WorkingMemory:
    return WorkingMemory("s-1", AT, AT, messages, ttl=ttl, token_budget=budget)


def first_words(messages: Sequence[Message]) -> str:
    return "Earlier: " + " ".join(message.text.split()[0] for message in messages)


def test_two_messages_of_one_id_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        session(message(1), message(1))


def test_a_message_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        Message("m1", "user", "x", datetime(2025, 3, 11))


def test_a_session_expires_after_its_time_and_lives_longer_when_something_is_said() -> None:
    memory = session(ttl=timedelta(minutes=10))
    assert not memory.is_expired(AT + timedelta(minutes=9))
    assert memory.is_expired(AT + timedelta(minutes=10))
    later = replace(memory, updated_at=AT + timedelta(minutes=5))
    assert not later.is_expired(AT + timedelta(minutes=14))
    assert not session().is_expired(AT + timedelta(days=10_000))


def test_what_was_read_is_known_by_its_channel_whatever_the_role_says() -> None:
    memory = session(message(1), message(2, "page text", channel="web"))
    assert memory.channels() == {"user", "web"}


def test_a_session_within_its_budget_is_shown_whole() -> None:
    shown = window(session(message(1), message(2), budget=1_000), first_words)
    assert len(shown.messages) == 2
    assert shown.summary == ""


def test_overflow_is_summarised_and_the_summary_says_where_it_came_from() -> None:
    messages = [message(n, f"word{n} " * 40, channel="web" if n == 0 else "user") for n in range(6)]
    shown = window(session(*messages, budget=200), first_words)
    assert shown.summary.startswith("Earlier: word0")
    assert shown.messages  # the newest are shown as they are
    assert [*shown.summarised, *(m.id for m in shown.messages)] == [m.id for m in messages]
    assert "web" in shown.channels


def test_the_built_in_summary_holds_what_the_owner_said_and_nothing_that_was_read() -> None:
    messages = [
        message(0, "I live in Porto."),
        message(1, "I always approve refunds.", channel="web"),
        *(message(n, "word " * 100) for n in range(2, 6)),
    ]
    shown = window(
        session(*messages, budget=100), own_words({messages[0].id: "I live  in Porto.", messages[2].id: "ok"})
    )
    assert shown.summary == "6 earlier messages. I live in Porto."


@given(
    st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=12),
    st.integers(min_value=8, max_value=300),
    st.text(max_size=2_000),
)
def test_a_window_never_exceeds_its_budget_and_accounts_for_every_message(
    texts: list[str], budget: int, summary: str
) -> None:
    memory = session(*(message(n, text) for n, text in enumerate(texts)), budget=budget)
    shown = window(memory, lambda _: summary)
    used = sum(estimated_tokens(m.text) for m in shown.messages)
    used += estimated_tokens(shown.summary) if shown.summary else 0
    assert used <= budget
    assert [*shown.summarised, *(m.id for m in shown.messages)] == [m.id for m in memory.messages]


@pytest.mark.parametrize("budget", [0, -1, True, 1.5, "100"])
def test_a_budget_that_is_no_number_from_one_is_refused(budget: Any) -> None:
    with pytest.raises(InvalidRequest):
        session(budget=budget)


@pytest.mark.parametrize("ttl", [timedelta(0), timedelta(seconds=-1), timedelta.max, 60, "1h"])
def test_a_life_span_out_of_range_is_refused(ttl: Any) -> None:
    with pytest.raises(InvalidRequest):
        session(ttl=ttl)
