"""Review: who let what in and why, with limits; a rejected claim stays out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Decision, Keep
from truekeep.errors import InvalidName, InvalidRequest, InvalidText, UnknownId

TEXT = "The office closes at five."


def held(keep: Keep, text: str = TEXT) -> str:
    verdict = keep.remember(text, via="web", principal="https://example.com/hours")
    assert verdict.item_id
    return verdict.item_id


def test_an_item_shows_its_text_its_origin_and_why_it_was_held(keep: Keep) -> None:
    item = keep.review.show(held(keep))
    assert (item.kind, item.state, item.code) == ("memory", "open", "hearsay_held")
    assert item.memory.text == TEXT
    assert item.memory.origin.channel == "web"
    assert keep.review.list() == [item]


def test_an_approved_item_may_act_and_says_who_approved_it(keep: Keep) -> None:
    verdict = keep.review.approve(held(keep), by="eva", reason="I called them")
    assert verdict.decision is Decision.ACCEPT
    (hit,) = keep.recall("office", influence_only=True)
    assert hit.memory.approval
    assert hit.memory.approval.by == "eva"
    assert "eva" in hit.why
    assert hit.memory.origin.channel == "web"
    event = keep.audit.events(kinds=["review.approved"])[-1]
    assert (event.body["by"], event.body["reason"]) == ("eva", "I called them")
    assert keep.review.list() == []
    assert [item.decided_by for item in keep.review.list("approved")] == ["eva"]


def test_an_approval_to_inform_does_not_let_it_act(keep: Keep) -> None:
    keep.review.approve(held(keep), by="eva", reason="background", inform_only=True)
    (hit,) = keep.recall("office")
    assert not hit.may_act
    assert keep.recall("office", influence_only=True) == []


def test_an_approval_with_a_date_ends_on_it(keep: Keep, clock: Clock) -> None:
    keep.review.approve(held(keep), by="eva", reason="this week", until=clock() + timedelta(days=7))
    assert len(keep.recall("office", influence_only=True)) == 1
    clock.advance(days=8)
    assert keep.recall("office", influence_only=True) == []
    assert len(keep.recall("office")) == 1


def test_a_rejected_claim_is_refused_without_asking_twice(keep: Keep) -> None:
    keep.review.reject(held(keep), by="eva", reason="wrong")
    again = keep.remember("The office  closes at FIVE.", via="email")
    assert (again.decision, again.code) == (Decision.REJECT, "rejected_claim_rejected")
    assert keep.review.list() == []


def test_the_owner_may_still_say_what_was_rejected_as_hearsay(keep: Keep) -> None:
    keep.review.reject(held(keep), by="eva", reason="wrong")
    assert keep.remember(TEXT, via="user").accepted


def test_an_item_is_decided_once(keep: Keep) -> None:
    item = held(keep)
    keep.review.approve(item, by="eva", reason="fine")
    for decide in (keep.review.approve, keep.review.reject):
        with pytest.raises(InvalidRequest) as caught:
            decide(item, by="max", reason="no")
        assert caught.value.code == "item_settled"
    assert len(keep.get_memories()) == 1


def test_an_item_nobody_looks_at_expires(keep: Keep, clock: Clock) -> None:
    item = held(keep)
    clock.advance(days=31)
    assert keep.review.list() == []
    assert [entry.id for entry in keep.review.list("expired")] == [item]
    with pytest.raises(InvalidRequest):
        keep.review.approve(item, by="eva", reason="late")


def test_an_approved_change_replaces_its_target_and_keeps_its_id(keep: Keep) -> None:
    stored = keep.remember("The office is in Nitra.", via="user").memory_id
    assert stored
    proposal = keep.update_memory(stored, "The office is in Zvolen.", via="web")
    assert proposal.item_id
    verdict = keep.review.approve(proposal.item_id, by="eva", reason="they moved")
    assert verdict.memory_id == stored
    memory = keep.get_memory(stored)
    assert (memory["content"], memory["may_act"], memory["version"]) == ("The office is in Zvolen.", True, 2)
    assert keep.audit.verify().ok


@pytest.mark.parametrize(
    ("by", "reason", "error"),
    [("", "x", InvalidName), ("a\nb", "x", InvalidName), ("eva", "", InvalidText), ("x" * 200, "x", InvalidName)],
)
def test_a_decision_needs_a_person_and_a_reason(keep: Keep, by: str, reason: str, error: type[Exception]) -> None:
    item = held(keep)
    with pytest.raises(error):
        keep.review.approve(item, by=by, reason=reason)
    with pytest.raises(error):
        keep.review.reject(item, by=by, reason=reason)
    assert len(keep.review.list()) == 1


@pytest.mark.parametrize("item_id", ["rev_nothing", "", "mem_0", "'; DROP TABLE queue"])
def test_an_unknown_item_is_a_clear_error(keep: Keep, item_id: str) -> None:
    with pytest.raises(UnknownId):
        keep.review.show(item_id)


@pytest.mark.parametrize(
    "text", ["the office CLOSES at five", "The office closes at five!", "“The office, closes at five”"]
)
def test_other_punctuation_does_not_get_a_rejected_claim_past_its_tombstone(keep: Keep, text: str) -> None:
    keep.review.reject(held(keep), by="eva", reason="wrong")
    assert keep.remember(text, via="email").code == "rejected_claim_rejected"


def test_another_number_is_another_claim(keep: Keep) -> None:
    keep.review.reject(held(keep, "Room 12 is free."), by="eva", reason="wrong")
    assert keep.remember("Room 21 is free.", via="web").code == "hearsay_held"


def test_expired_items_free_their_sources_share_of_the_queue(home: Path, clock: Clock) -> None:
    home.mkdir()
    (home / "config.toml").write_text("queue_per_principal = 2\n")
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        codes = [keep.remember(f"Room {number} is free.", via="web").code for number in range(3)]
        assert codes == ["hearsay_held", "hearsay_held", "queue_full"]
        clock.advance(days=31)
        assert keep.remember("Room 9 is free.", via="web").code == "hearsay_held"
        assert len(keep.review.list()) == 1
        assert len(keep.review.list("expired")) == 2
        assert keep.audit.verify().ok
