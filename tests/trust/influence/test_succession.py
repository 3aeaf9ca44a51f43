"""Who takes whose place: only what may act and ranks as high; hearsay nobody's; two contradictions never both act."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.trust.influence import UNRIVALLED, Rank, Reader, Rival, Shelf, may_retire, place, rank
from truekeep.types import Approval, Memory, Origin, Standing

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RANKS = st.sampled_from(Rank)


def rival(**more: object) -> Rival:
    given = {"memory_id": "mem_1", "rank": Rank.OWNER, "acts": True, "is_newer": True, "since": NOW, **more}
    return Rival(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("own", Rank)
def test_a_newer_word_of_the_owner_takes_the_place_of_any(own: Rank) -> None:
    assert place(own, True, [rival()], NOW).retired_by == ("mem_1",)


@pytest.mark.parametrize("newer", [Rank.ENROLLED, Rank.AGENT, Rank.HEARSAY])
def test_nothing_below_the_owner_takes_the_place_of_the_owners_word(newer: Rank) -> None:
    assert place(Rank.OWNER, True, [rival(rank=newer)], NOW) == UNRIVALLED


@given(RANKS, st.booleans())
def test_hearsay_takes_nobodys_place(own: Rank, acts: bool) -> None:
    assert place(own, acts, [rival(rank=Rank.HEARSAY)], NOW).is_free


@given(RANKS, RANKS)
def test_what_may_not_act_takes_nobodys_place_and_holds_nobody_back(own: Rank, other: Rank) -> None:
    for is_newer in (True, False):
        assert place(own, True, [rival(rank=other, acts=False, is_newer=is_newer)], NOW).is_free


@given(RANKS, RANKS, st.booleans(), st.booleans())
def test_of_two_that_contradict_each_other_at_most_one_is_free_to_act(
    older: Rank, newer: Rank, older_acts: bool, newer_acts: bool
) -> None:
    behind = place(older, older_acts, [rival(rank=newer, acts=newer_acts)], NOW)
    ahead = place(newer, newer_acts, [rival(rank=older, acts=older_acts, is_newer=False)], NOW)
    both = older_acts and behind.is_free and newer_acts and ahead.is_free
    assert not both or older == newer == Rank.HEARSAY  # what only an operator's switch lets act
    if older_acts and newer_acts and max(older, newer) > Rank.HEARSAY:
        assert behind.is_free or ahead.is_free


def test_a_proven_newcomer_that_contradicts_the_owner_contests_and_is_held_back() -> None:
    found = place(Rank.ENROLLED, True, [rival(is_newer=False)], NOW)
    assert (found.contests, found.held_by, found.retired_by) == (("mem_1",), ("mem_1",), ())


def test_a_word_that_was_replaced_itself_holds_nobody_back() -> None:
    assert place(Rank.ENROLLED, True, [rival(is_newer=False, is_retired=True)], NOW) == UNRIVALLED


def test_a_change_in_the_future_replaces_from_then_on() -> None:
    later = NOW + timedelta(days=30)
    waiting = place(Rank.OWNER, True, [rival(since=later)], NOW)
    assert waiting.is_free
    assert waiting.until == later
    assert place(Rank.OWNER, True, [rival(since=later)], later).retired_by == ("mem_1",)


def test_what_is_outdated_in_part_stays_but_no_longer_acts() -> None:
    found = place(Rank.OWNER, True, [rival(is_whole=False)], NOW)
    assert (found.retired_by, found.outdated_by, found.is_free) == ((), ("mem_1",), False)


def test_the_agents_word_ranks_below_an_enrolled_systems() -> None:
    reader = Reader()
    assert rank(Standing.ENROLLED, None, None, reader, is_agents=True) < rank(
        Standing.ENROLLED, "crm", None, reader, is_agents=False
    )


def test_another_members_word_ranks_as_enrolled_and_is_not_mine_to_retire() -> None:
    tom = Reader(principal="tom", is_shared_keep=True)
    assert rank(Standing.OWNER, "eva", None, tom, is_agents=False) is Rank.ENROLLED
    assert rank(Standing.OWNER, "tom", None, tom, is_agents=False) is Rank.OWNER
    hers = Memory("mem_1", "x", Standing.OWNER, Origin("user", "eva"), NOW, NOW)
    assert not may_retire(hers, tom)
    assert may_retire(hers, Reader(principal="eva", is_shared_keep=True))
    assert may_retire(hers, Reader())


def test_what_a_person_approved_ranks_with_the_owners_words() -> None:
    approval = Approval("eva", "called them", NOW)
    assert rank(Standing.HEARSAY, None, approval, Reader(), is_agents=False) is Rank.OWNER


def test_the_owners_words_and_approved_ones_never_fade() -> None:
    shelf = Shelf(hearsay_days=30, enrolled_days=90)
    assert shelf.fades_at(Standing.OWNER, None, NOW) is None
    assert shelf.fades_at(Standing.HEARSAY, Approval("eva", "x", NOW), NOW) is None
    assert shelf.fades_at(Standing.HEARSAY, None, NOW) == NOW + timedelta(days=30)
    assert shelf.fades_at(Standing.ENROLLED, None, NOW) == NOW + timedelta(days=90)
    assert Shelf().fades_at(Standing.HEARSAY, None, NOW) is None
    assert Shelf(1e12, 1e12).fades_at(Standing.HEARSAY, None, NOW) is None
