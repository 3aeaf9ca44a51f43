"""A note of the agent's waits for the owner's word, in the keep and in the queue at once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.conftest import Clock
from truekeep import Keep
from truekeep.errors import InvalidRequest
from truekeep.types import Item

NOTE = "The office is in Nitra."


def noted(keep: Keep, text: str = NOTE) -> Item:
    memory_id = keep.remember(text, via="agent", session="s-1").memory_id
    item = keep.review.note_waits(str(memory_id))
    assert item is not None
    return item


def test_a_note_that_is_approved_may_act_and_is_not_there_twice(informed: Keep) -> None:
    item = noted(informed)
    assert not informed.get_memories()[0]["may_act"]
    verdict = informed.review.approve(item.id, by="owner", reason="so it is")
    (memory,) = informed.get_memories()
    assert (memory["may_act"], memory["content"], memory["id"]) == (True, NOTE, verdict.memory_id)
    informed.review.undo(item.id, by="owner", reason="not so")
    (memory,) = informed.get_memories()
    assert not memory["may_act"]
    assert [one.id for one in informed.review.list()] == [item.id]


def test_a_note_waits_once_and_in_a_group(informed: Keep) -> None:
    first, again = noted(informed), informed.review.note_waits(informed.get_memories()[0]["id"])
    assert again is not None
    assert again.id == first.id
    noted(informed, "The dentist is on Pell Street.")
    (group,) = informed.review.noted()
    assert len(group.items) == 2
    told = informed.review.approve_group(group.key, by="owner", reason="all of it")
    assert set(told.values()) == {"done"}
    assert all(memory["may_act"] for memory in informed.get_memories())


def test_what_waits_is_still_there_after_months(informed: Keep, clock: Clock) -> None:
    item = noted(informed)
    clock.now += timedelta(days=200)
    assert [one.id for one in informed.review.list()] == [item.id]
    informed.review.approve(item.id, by="owner", reason="still so")
    assert [memory["may_act"] for memory in informed.get_memories()] == [True]


def test_a_note_that_is_left_goes_on_informing_and_is_not_asked_about_again(informed: Keep) -> None:
    item = noted(informed)
    informed.review.leave(item.id, by="owner", reason="not my words")
    assert informed.review.list() == []
    assert [memory["content"] for memory in informed.get_memories()] == [NOTE]
    again = informed.review.note_waits(informed.get_memories()[0]["id"])
    assert again is not None
    assert again.state == "rejected"


def test_a_note_that_is_rejected_is_gone_and_not_noted_again(informed: Keep) -> None:
    item = noted(informed)
    informed.review.reject(item.id, by="owner", reason="wrong")
    assert informed.get_memories() == []
    assert not informed.remember(NOTE, via="agent", session="s-1").accepted
    informed.review.undo(item.id, by="owner", reason="right after all")
    assert [memory["content"] for memory in informed.get_memories()] == [NOTE]


def test_only_notes_wait_and_are_left(keep: Keep) -> None:
    memory_id = str(keep.remember(NOTE, via="user").memory_id)
    assert keep.review.note_waits(memory_id) is None
    assert keep.review.note_waits("mem_none") is None
    held = keep.remember("The harbour is closed.", via="web", principal="https://news.example").item_id
    with pytest.raises(InvalidRequest, match="Only a note"):
        keep.review.leave(str(held), by="owner", reason="no")


def test_the_same_words_are_known(informed: Keep) -> None:
    assert informed.review.known(NOTE) is None
    note = informed.remember(NOTE, via="agent", session="s-1").memory_id
    found = informed.review.known("the office  is in NITRA")
    assert found is not None
    assert found.id == note
    own = informed.remember(NOTE, via="user").memory_id
    found = informed.review.known(NOTE)
    assert found is not None
    assert found.id == own


def test_a_note_that_is_over_is_noted_anew_and_waits_once(informed: Keep, clock: Clock) -> None:
    first = noted(informed)
    clock.advance(days=40)
    assert informed.get_memories() == []
    assert informed.review.known(NOTE) is None
    second = noted(informed)
    assert (second.id, second.target) == (first.id, informed.get_memories()[0]["id"])
    assert second.target != first.target
    assert [one.id for one in informed.review.list()] == [first.id]
