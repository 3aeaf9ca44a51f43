"""A newer fact takes the place of an older one only where both cannot hold; valid time is read off the words."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from truekeep.trust.influence import claim_of, outdated, questions, valid_time

PAIRS = yaml.safe_load((Path(__file__).parent / "outdated.yaml").read_text("utf-8"))
SAID = datetime(2026, 8, 20, 12, tzinfo=UTC)


def pairs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("a", "b"), PAIRS[name], ids=[f"{a} / {b}"[:60] for a, b in PAIRS[name]])


@pairs("outdated")
def test_a_newcomer_outdates_what_cannot_hold_beside_it(a: str, b: str) -> None:
    assert outdated(claim_of(a), claim_of(b)) == {0}
    assert outdated(claim_of(b), claim_of(a)) == {0}


@pairs("outdated")
def test_rivals_find_each_other_by_a_question(a: str, b: str) -> None:
    assert set(questions(claim_of(a))) & set(questions(claim_of(b)))


@pairs("beside")
def test_what_can_hold_together_stays(a: str, b: str) -> None:
    assert not outdated(claim_of(a), claim_of(b))
    assert not outdated(claim_of(b), claim_of(a))


def test_only_the_contradicted_part_of_a_longer_memory_is_outdated() -> None:
    elder = claim_of("My phone is 0905 123 456. I live in Praha. I like tea.")
    assert outdated(elder, claim_of("I moved to Brno")) == {1}


def test_the_same_claim_outdates_nothing() -> None:
    for text in ("I live in Praha", "Northwind's plan is Gold."):
        assert not outdated(claim_of(text), claim_of(text))


def test_what_i_say_and_what_eva_says_of_herself_are_not_about_one_person() -> None:
    mine, hers = claim_of("My rent is 500 euros", speaker="tom"), claim_of("My rent is 600 euros", speaker="eva")
    assert not outdated(mine, hers)
    assert not set(questions(mine)) & set(questions(hers))


PIECES = [
    "I", "my", "Eva", "Eva's", "Northwind's", "lives", "live", "in", "at", "moved", "to", "Praha", "Brno", "account",
    "is", "not", "500", "euros", ".", "no", "longer", "since", "May", "the", "of", "new", "was", "phone",
    "0905 123 456", "favourite", "colour", "blue", "it", "costs", "works",
]  # fmt: skip
_WORDS = st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join)


@given(_WORDS, _WORDS)
def test_whoever_outdates_shares_a_question(a: str, b: str) -> None:
    """Candidates are found by questions alone, so nothing may be outdated that shares none."""
    first, second = claim_of(a), claim_of(b)
    if outdated(first, second):
        assert set(questions(first)) & set(questions(second))


@given(_WORDS, _WORDS)
def test_being_outdated_is_mutual(a: str, b: str) -> None:
    assert bool(outdated(claim_of(a), claim_of(b))) == bool(outdated(claim_of(b), claim_of(a)))


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("I moved to Brno in May", "2026-05-01", None),
        ("I moved to Brno in October", "2025-10-01", None),
        ("I moved to Brno in May 2024", "2024-05-01", None),
        ("I moved to Brno last week", "2026-08-10", None),
        ("I moved to Brno on Monday", "2026-08-17", None),
        ("The rent is 500 euros since January 2024", "2024-01-01", None),
        ("I live in Brno since 2019", "2019-01-01", None),
        ("My rent is 500 euros until March", None, "2027-04-01"),
        ("The rent is 600 euros until 31 March 2026", None, "2026-04-01"),
        ("I work until 5 pm", None, None),
        ("Eva moved to Brno on 3/4/2025", None, None),
        ("I live here. I moved to Brno in May", None, None),
        ("My birthday is 2 May 1990", None, None),
    ],
)
def test_a_claim_says_since_when_and_until_when_it_holds(text: str, since: str | None, until: str | None) -> None:
    found = [moment.date().isoformat() if moment else None for moment in valid_time(claim_of(text), SAID)]
    assert found == [since, until]


@given(st.text(max_size=60), st.datetimes(timezones=st.just(UTC)))
def test_any_text_has_some_valid_time_or_none(text: str, said: datetime) -> None:
    since, until = valid_time(claim_of(f"I moved to Brno {text}"), said)
    assert since is None or since.tzinfo is UTC
    assert until is None or until.tzinfo is UTC
