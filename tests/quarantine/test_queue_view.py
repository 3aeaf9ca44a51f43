"""The queue as a person works through it: grouped by claim and source, filtered, searched, oldest first."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Clock
from truekeep import Keep
from truekeep.quarantine.queue import CLEAN, QueueFilter


def held(keep: Keep, text: str, principal: str = "https://example.com", via: str = "web") -> str:
    item_id = keep.remember(text, via=via, principal=principal).item_id
    assert item_id
    return item_id


def test_the_same_claim_from_one_source_is_one_group_and_from_two_it_is_two(keep: Keep, clock: Clock) -> None:
    first = held(keep, "Eva's phone number is 111-222.")
    clock.advance(minutes=1)
    other = held(keep, "Eva's phone number is 111-222.", "https://another.example")
    clock.advance(minutes=1)
    again = held(keep, "The phone number of Eva is 111-222.")
    different = held(keep, "Eva's phone number is 333-444.")
    groups = keep.review.groups()
    assert [[card.item.id for card in group.cards] for group in groups] == [[first, again], [other], [different]]
    assert groups[0].first.id == first
    assert len({group.key for group in groups}) == 3


def test_texts_that_state_nothing_are_grouped_by_their_words(keep: Keep) -> None:
    held(keep, "What a day!")
    held(keep, "what  a DAY!")
    held(keep, "What a night!")
    assert sorted(len(group.cards) for group in keep.review.groups()) == [1, 2]


def test_filters_and_search_find_what_they_name_and_nothing_else(informed: Keep) -> None:
    keep = informed
    keep.remember("Remember this password: hunter2-Xq9-Tz", via="user")
    stored = keep.remember("The rent is 640 euros.", via="user").memory_id
    assert stored
    keep.bind("agent", session="s-77").delete_memory(stored)
    keep.update_memory(stored, "The rent is 900 euros.", via="web", principal="https://example.com")
    assert keep.review.count() == 3
    facets = keep.review.facets()
    assert facets.codes == {"memory_plant_held": 1, "deletion_proposed": 1, "change_outranked": 1}
    assert facets.channels == {"user": 1, "agent": 1, "web": 1}
    assert facets.principals == {"": 2, "example.com": 1}
    assert facets.severities[CLEAN] == 2
    wanted = {
        QueueFilter(code="memory_plant_held"): 1,
        QueueFilter(kind="deletion"): 1,
        QueueFilter(channel="web"): 1,
        QueueFilter(principal="example.com"): 1,
        QueueFilter(severity=CLEAN): 2,
        QueueFilter(text="RENT is"): 2,
        QueueFilter(text="example.com"): 1,
        QueueFilter(text="rent", channel="user"): 0,
    }
    assert {sought: keep.review.count(sought) for sought in wanted} == wanted
    (group,) = keep.review.groups(QueueFilter(channel="web"))
    assert keep.review.count(QueueFilter(group=group.key)) == 1


def test_the_queue_follows_decisions_of_other_processes_and_time(home: Path, clock: Clock) -> None:
    with (
        Keep.open("alice", home=home, clock=clock, background=False) as one,
        Keep.open("alice", home=home, clock=clock, background=False) as other,
    ):
        first = held(one, "Eva's phone number is 111-222.")
        assert other.review.count() == 1
        second = held(other, "The office closes at five.")
        assert [group.first.id for group in one.review.groups()] == [first, second]
        other.review.reject(first, by="eva", reason="no")
        assert one.review.count() == 1
        other.review.undo(first, by="eva", reason="yes")
        assert one.review.count() == 2
        clock.advance(days=31)
        assert one.review.count() == other.review.count() == 0


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["approve", "reject", "wait"])), max_size=8))
def test_what_is_counted_is_what_is_listed(
    tmp_path_factory: pytest.TempPathFactory, life: list[tuple[str, str]]
) -> None:
    with Keep.open("alice", home=tmp_path_factory.mktemp("queue"), clock=Clock(), background=False) as keep:
        for number, (name, fate) in enumerate(life):
            item_id = held(keep, f"The code of door {name}{number} is {number}.", f"https://{name}.example")
            if fate != "wait":
                getattr(keep.review, fate)(item_id, by="eva", reason="so")
            cards = [card for group in keep.review.groups() for card in group.cards]
            listed = {item.id: item for item in keep.review.list()}
            assert {card.item.id: card.item for card in cards} == listed
            assert keep.review.count() == len(listed)


@pytest.mark.slow
def test_looking_again_at_a_long_queue_costs_little(home: Path) -> None:
    with Keep.open("alice", home=home) as keep:
        entries = [{"text": f"Room {n} has {n % 90} chairs.", "principal": f"p{n % 40}.example"} for n in range(600)]
        keep.remember_many(entries, via="web")
        assert keep.review.count() == 600
        started = time.thread_time()
        for _ in range(10):
            keep.review.groups(QueueFilter(text="room 5"))
        assert (time.thread_time() - started) / 10 < 0.03
