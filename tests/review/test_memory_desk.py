"""One memory at a person's desk: left as background, given back what it had and never more, shared, looked at."""

from __future__ import annotations

import pytest

from truekeep import Keep
from truekeep.errors import InvalidRequest, NotAllowed

HEARD = "Northwind's account number is 9904-71."


def acts(keep: Keep, memory_id: str) -> bool:
    return bool(keep.get_memory(memory_id)["may_act"])


def test_a_limit_is_lifted_to_just_what_was_there_before(keep: Keep) -> None:
    said = str(keep.remember("I prefer trains.", via="user").memory_id)
    keep.memories.restrict(said, via="user", by="eva", reason="Not for calls.")
    assert not acts(keep, said)
    with pytest.raises(InvalidRequest, match="already"):
        keep.memories.restrict(said, via="user", by="eva", reason="Again.")
    keep.memories.lift(said, via="user", by="eva", reason="It is.")
    assert acts(keep, said)
    assert keep.get_memory(said)["version"] == 3
    with pytest.raises(InvalidRequest):
        keep.memories.lift(said, via="user", by="eva", reason="Again.")


def test_what_was_approved_as_background_does_not_come_to_act_by_lifting(keep: Keep) -> None:
    item = keep.remember(HEARD, via="web", principal="blog.example").item_id
    assert item
    heard = str(keep.review.approve(item, by="eva", reason="ok", inform_only=True).memory_id)
    assert not keep.memories.is_liftable(heard)
    with pytest.raises(InvalidRequest):
        keep.memories.lift(heard, via="user", by="eva", reason="x")
    assert not acts(keep, heard)


@pytest.mark.parametrize("via", ["agent", "web", "outcomes", "reviewer:eva"])
def test_only_who_may_confirm_restricts(keep: Keep, via: str) -> None:
    said = str(keep.remember("I prefer trains.", via="user").memory_id)
    with pytest.raises(NotAllowed):
        keep.memories.restrict(said, via=via, by="eva", reason="x")
    assert acts(keep, said)


def test_hearsay_and_a_single_owners_words_are_not_shared(keep: Keep) -> None:
    said = str(keep.remember("I prefer trains.", via="user").memory_id)
    with pytest.raises(InvalidRequest):
        keep.memories.share(said, via="reviewer:eva", by="eva", reason="x")
    keep.channels.enrol("member:tom", by="eva", reason="ours")
    item = keep.remember(HEARD, via="web", principal="blog.example").item_id
    assert item
    heard = str(keep.review.approve(item, by="eva", reason="ok", inform_only=True).memory_id)
    with pytest.raises(InvalidRequest):
        keep.memories.share(heard, via="reviewer:eva", by="eva", reason="x")
    with pytest.raises(NotAllowed):
        keep.memories.share(said, via="member:tom", by="tom", reason="x")


def test_a_members_word_counts_for_others_once_it_is_shared(keep: Keep) -> None:
    for name in ("member:tom", "member:ann"):
        keep.channels.enrol(name, by="eva", reason="ours")
    said = str(keep.remember("The office door code box is blue.", via="member:tom").memory_id)
    ann = keep.session("ann-1", mediated=True, member="ann")
    assert not any(hit.may_act for hit in ann.recall("office door box"))
    keep.memories.share(said, via="reviewer:eva", by="eva", reason="All may know.")
    assert [hit.memory.id for hit in ann.recall("office door box") if hit.may_act] == [said]
    keep.memories.lift(said, via="reviewer:eva", by="eva", reason="No more.")
    assert not any(hit.may_act for hit in ann.recall("office door box"))


def test_only_a_reviewer_looks_at_what_is_blocked_and_nothing_else_is_shown(keep: Keep) -> None:
    said = str(keep.remember("I prefer trains.", via="user").memory_id)
    with pytest.raises(InvalidRequest):
        keep.memories.blocked_text(said, via="reviewer:eva", by="eva")
    with pytest.raises(NotAllowed):
        keep.memories.blocked_text(said, via="agent", by="eva")
