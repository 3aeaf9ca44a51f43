"""What recall gives a session: what may act and clean notes, within a budget, newer before older."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from truekeep import Keep
from truekeep.config import Settings
from truekeep.embed import default
from truekeep.errors import InvalidRequest

LONG = (
    "long day. the van is in the garage again, the tiler wants paying, and my locker at the pool is number 88, "
    "which I keep forgetting. also I saw a heron on the canal and it looked at me like I owed it money"
)


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    return Keep.open("alice", home=tmp_path, policy="inform", embedder=default, background=False)


def test_inside_a_session_hearsay_is_not_shown_unless_it_is_asked_for(keep: Keep) -> None:
    keep.remember("Our printer stands in the cellar", via="user")
    keep.remember("The printer in the cellar was sold", via="web", principal="https://example.com/x")
    with keep.session("s-1", mediated=True) as session:
        assert [hit.may_act for hit in session.recall("Where is the printer?")] == [True]
        assert keep.is_clean("s-1")
        assert session.recall("Where is the printer?").withheld["may_not_act"] == 1
        assert len(session.recall("Where is the printer?", background=True)) == 2
        assert not session.is_clean
    assert len(keep.recall("Where is the printer?")) == 2
    assert len(keep.recall("Where is the printer?", background=False)) == 1


def test_a_note_of_a_clean_session_is_shown_and_does_not_taint(keep: Keep) -> None:
    with keep.session("s-1", mediated=True) as session:
        session.observe("user", "hello")
        session.remember("The owner asked about the ferry to Korcula", via="agent")
    with keep.session("s-2", mediated=True) as later:
        assert "The owner asked about the ferry to Korcula" in [hit.text for hit in later.recall("ferry to Korcula")]
        assert later.is_clean


def test_a_budget_gives_whole_passages_or_the_part_that_answers(keep: Keep) -> None:
    keep.remember(LONG, via="user")
    keep.remember("The pool opens at six", via="user")
    (whole, *_) = keep.recall("number of the locker at the swimming pool", max_chars=1_000)
    assert whole.text == LONG
    hits = keep.recall("number of the locker at the swimming pool", max_chars=80)
    part = next(hit for hit in hits if hit.memory.text == LONG)
    assert "88" in part.text
    assert part.text in LONG
    assert sum(len(hit.text) for hit in hits) <= 80
    nothing = keep.recall("number of the locker at the swimming pool", max_chars=5)
    assert nothing == []
    assert nothing.withheld["over_budget"]


@pytest.mark.parametrize("bad", [-1, True, 1.5, "9"])
def test_a_budget_that_is_none_is_refused(keep: Keep, bad: int) -> None:
    with pytest.raises(InvalidRequest):
        keep.recall("locker", max_chars=bad)


def test_the_newer_of_two_statements_comes_first_and_the_older_one_says_so(keep: Keep) -> None:
    keep.remember("My dentist is Dr Okafor on Bridge Street", via="user", as_of=datetime(2026, 1, 5, tzinfo=UTC))
    keep.remember("My dentist is now Dr Lindgren in the mall", via="user", as_of=datetime(2026, 5, 5, tzinfo=UTC))
    first, second = keep.recall("Who is my dentist?")
    assert "Lindgren" in first.text
    assert second.newer == first.memory.id
    assert first.newer is None


def test_the_floor_is_a_setting(tmp_path: Path) -> None:
    question = "Which antibiotic did the vet give the parrot?"
    for floor, is_empty in ((0.0, False), (1_000.0, True)):
        with Keep.open("bob", home=tmp_path, settings=Settings(recall_floor=floor), embedder=default) as bob:
            bob.remember("I prefer window seats", via="user")
            assert (bob.recall(question) == []) == is_empty
