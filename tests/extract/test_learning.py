"""What is learned by itself: how the settings limit it, what is left out, and what can delay it."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Keep, Settings
from truekeep.embed.base import Embedder, EmbedderError

PLAIN = Settings(embedder="none", learn_debounce_seconds=0)


@pytest.fixture
def settings() -> Settings:
    return PLAIN


@pytest.fixture
def learner(home: Path, clock: Clock, settings: Settings) -> Iterator[Keep]:
    with Keep.open("alice", home=home, clock=clock, settings=settings, background=False) as opened:
        yield opened


def told(keep: Keep, *messages: str, session: str = "s-1", learn: bool = True) -> None:
    with keep.session(session, mediated=True, learn=learn) as talk:
        for message in messages:
            talk.observe("user", message)


def contents(keep: Keep) -> list[str]:
    return [memory["content"] for memory in keep.get_memories()]


def test_small_talk_is_left_out_and_the_rest_is_remembered_whole(learner: Keep) -> None:
    told(learner, "Hi!", "Hello there, my sister Jana lives in Nitra. Thanks!", "ok", "Ďakujem pekne", "go on please")
    assert contents(learner) == ["Hello there, my sister Jana lives in Nitra. Thanks!"]


def test_a_model_cannot_bring_small_talk_back(learner: Keep) -> None:
    learner.observe("s-1", "user", "ok, go on")
    learner.extract("s-1", "discrete")
    assert not contents(learner)


def test_a_session_can_be_left_out(learner: Keep) -> None:
    told(learner, "I live in Porto.", learn=False)
    assert not contents(learner)
    told(learner, "I live in Graz.", session="s-2")
    assert contents(learner) == ["I live in Graz."]


@pytest.mark.parametrize("settings", [replace(PLAIN, learn="off")])
def test_learning_can_be_turned_off(learner: Keep) -> None:
    told(learner, "I live in Porto.")
    assert not learner.extraction.run()
    assert not contents(learner)


@pytest.mark.parametrize("settings", [replace(PLAIN, learn_topics="travel, flight")])
def test_learning_can_be_limited_to_topics(learner: Keep) -> None:
    told(learner, "I love travelling by night.", "My salary is 3000 euros.", "Both flights are booked.")
    assert contents(learner) == ["I love travelling by night.", "Both flights are booked."]


@pytest.mark.parametrize("settings", [replace(PLAIN, learn_topics="-salary, -Krankheit")])
def test_topics_can_be_left_out(learner: Keep) -> None:
    told(learner, "My salary is 3000 euros.", "Ich habe zwei Krankheiten.", "I live in Graz.")
    assert contents(learner) == ["I live in Graz."]


def test_nothing_of_the_owners_ends_by_itself(learner: Keep, clock: Clock) -> None:
    told(learner, "I live in Porto.")
    clock.now += timedelta(days=3000)
    assert contents(learner) == ["I live in Porto."]


@pytest.mark.parametrize("settings", [replace(PLAIN, retention_days=30.0)])
def test_retention_counts_from_when_it_was_said_last(learner: Keep, clock: Clock) -> None:
    told(learner, "I live in Porto.", "I drink tea.")
    clock.now += timedelta(days=20)
    told(learner, "I live in Porto.", session="s-2")
    clock.now += timedelta(days=20)
    assert contents(learner) == ["I live in Porto."]
    clock.now += timedelta(days=20)
    assert contents(learner) == []


@pytest.mark.parametrize(
    "text", ["我住在北京。" * 900, "a" * 9_000, "word " * 3_000, "שלום " * 2_000, "Ja żyję.\n" * 300]
)
def test_a_message_of_any_size_and_script_is_learned_whole(learner: Keep, text: str) -> None:
    told(learner, text)
    found = [memory["content"] for memory in learner.get_memories(limit=1000)]
    held = [item.memory.text for item in learner.review.list()]
    known = "".join("".join(one.split()) for one in (*found, *held))
    assert found or held
    assert set("".join(text.split())) <= set(known)
    assert all(len(one) <= PLAIN.passage_chars for one in found)


def test_passages_of_a_long_message_overlap_and_leave_nothing_out(learner: Keep) -> None:
    sentences = [
        f"In the year {year} we lived in house number {year % 97} and liked it there." for year in range(1900, 1990)
    ]
    told(learner, " ".join(sentences))
    found = [memory["content"] for memory in learner.get_memories(limit=1000)]
    found += [item.memory.text for item in learner.review.list()]  # what the screens hold is held
    assert all(any(sentence in one for one in found) for sentence in sentences)
    assert any(first.split(". ")[-1].rstrip(".") in later for first, later in pairwise(sorted(found)))


def test_an_embedder_that_fails_delays_vectors_and_never_the_words(home: Path, clock: Clock) -> None:
    def broken() -> Embedder:
        raise EmbedderError("its files are damaged")

    with Keep.open("alice", home=home, clock=clock, settings=PLAIN, embedder=broken, background=False) as keep:
        told(keep, "I live in Porto.")
        assert contents(keep) == ["I live in Porto."]


def test_the_thread_of_the_keep_learns_after_a_quiet_spell(home: Path) -> None:
    with Keep.open("alice", home=home, settings=PLAIN) as keep:
        done: queue.Queue[object] = queue.Queue()
        keep.extraction.start(on_done=done.put)
        keep.observe("s-1", "user", "I live in Porto.")
        done.get(timeout=60)
        assert contents(keep) == ["I live in Porto."]
