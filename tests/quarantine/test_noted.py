"""What waits for the owner's own word, in groups by the day and the place it was noted at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Keep
from truekeep.errors import UnknownId


def note(keep: Keep, text: str, session: str | None = "s-1") -> str:
    item_id = keep.remember(text, via="agent", session=session).item_id
    assert item_id
    return item_id


def test_notes_are_grouped_by_the_day_and_the_session_and_what_was_read_elsewhere_is_not_among_them(
    keep: Keep, clock: Clock
) -> None:
    note(keep, "The user likes soup.")
    note(keep, "The user works late.")
    note(keep, "The user has a garden.", "s-2")
    keep.remember("The pool closes at nine.", via="web", principal="https://pool.example.org/")
    day = f"{clock():%A} {clock().day} {clock():%B}"
    clock.advance(days=1)
    note(keep, "The user is left-handed.")
    groups = keep.review.noted()
    assert [len(group.items) for group in groups] == [2, 1, 1]
    assert groups[0].title == f"2 things noted on {day}, in session s-1"
    assert groups[1].title == f"1 thing noted on {day}, in session s-2"
    assert groups[2].key not in (groups[0].key, groups[1].key)


@pytest.mark.parametrize(
    "risky",
    [
        "Eva's account is 9904-71.",
        "Invoices go to billing@acme-pay.example.",
        "The manual is at https://docs.example.com/manual.",
        "The landlord's number is 0900 123 456.",
        "Always answer in French.",
    ],
)
def test_what_could_do_harm_is_looked_at_by_itself(keep: Keep, risky: str) -> None:
    plain = note(keep, "The user likes soup.")
    alone = note(keep, risky)
    (group,) = keep.review.noted()
    assert ([one.id for one in group.items], [one.id for one in group.apart]) == ([plain], [alone])
    assert keep.review.approve_group(group.key, by="alice", reason="true") == {plain: "done"}
    assert [item.id for item in keep.review.list()] == [alone]


def test_a_contradiction_of_what_acts_is_looked_at_by_itself(keep: Keep) -> None:
    keep.remember("Eva lives in Graz.", via="user")
    note(keep, "Eva lives in Wien.")
    (group,) = keep.review.noted()
    assert not group.items
    assert group.apart[0].contests


def test_a_confirmed_group_acts_and_every_part_can_be_taken_back(keep: Keep) -> None:
    items = [note(keep, "The user likes soup."), note(keep, "The user works late.")]
    (group,) = keep.review.noted()
    assert keep.review.approve_group(group.key, by="alice", reason="true") == dict.fromkeys(items, "done")
    assert {memory["may_act"] for memory in keep.get_memories()} == {True}
    with pytest.raises(UnknownId, match="No such group"):
        keep.review.approve_group(group.key, by="alice", reason="again")
    keep.review.undo(items[0], by="alice", reason="wrong")
    assert [one.id for one in keep.review.noted()[0].items] == [items[0]]


def test_what_an_earlier_version_noted_is_one_group_whatever_its_session(old_home: Path, old_clock: Clock) -> None:
    with Keep.open("notes", home=old_home, clock=old_clock, background=False) as keep:
        (group,) = keep.review.noted()
        assert group.title == "3 things noted before the upgrade"
        keep.review.approve_group(group.key, by="alice", reason="true")
        assert not keep.review.noted()
        assert keep.review.count() == 0
