"""Newer before older: what was said later about the same thing comes first, and only the owner's side outdates."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from truekeep.claims.newer import DatedHit, newest_first

JANUARY = datetime(2026, 1, 10, tzinfo=UTC)
ALIKE = [[1.0, 0.6], [0.6, 1.0]]


def said(closeness: float, days: int, *, acts: bool = True) -> DatedHit:
    return DatedHit(closeness, JANUARY + timedelta(days=days), acts)


def test_a_newer_passage_about_the_same_thing_overtakes_the_older_one() -> None:
    ordered = newest_first([said(0.6, 0), said(0.5, 60)], ALIKE)
    assert ordered.places == (1, 0)
    assert ordered.older == {0: 1}


def test_a_newer_passage_that_answers_much_worse_stays_behind() -> None:
    ordered = newest_first([said(0.6, 0), said(0.2, 60)], ALIKE)
    assert (ordered.places, ordered.older) == ((0, 1), {0: 1})


def test_what_is_about_something_else_overtakes_nothing() -> None:
    assert newest_first([said(0.6, 0), said(0.5, 60)], [[1.0, 0.1], [0.1, 1.0]]).places == (0, 1)


def test_within_a_conversation_nothing_is_taken_back_by_going_on() -> None:
    assert newest_first([said(0.6, 0), said(0.5, 0)], ALIKE).places == (0, 1)


def test_what_may_not_act_calls_nothing_older_and_pushes_nothing_down() -> None:
    ordered = newest_first([said(0.6, 0), said(0.6, 60, acts=False)], ALIKE)
    assert (ordered.places, ordered.older) == ((0, 1), {})


PASSAGES = st.lists(st.builds(said, st.floats(0, 1), st.integers(0, 300), acts=st.booleans()), max_size=8)


@given(PASSAGES, st.floats(-1, 1))
def test_every_passage_is_there_once_and_the_newest_is_never_older(passages: list[DatedHit], alike: float) -> None:
    ordered = newest_first(passages, [[alike] * len(passages)] * len(passages))
    assert sorted(ordered.places) == list(range(len(passages)))
    assert all(passages[elder].moment < passages[newer].moment for elder, newer in ordered.older.items())


def test_what_replaces_comes_first_however_soon_and_however_worded_unless_it_may_not_act() -> None:
    unlike = [[1.0, 0.1], [0.1, 1.0]]
    ordered = newest_first([said(0.6, 0), said(0.4, 0)], unlike, {(1, 0)})
    assert (ordered.places, ordered.older) == ((1, 0), {0: 1})
    ordered = newest_first([said(0.6, 0), said(0.4, 0, acts=False)], unlike, {(1, 0)})
    assert (ordered.places, ordered.older) == ((0, 1), {})
