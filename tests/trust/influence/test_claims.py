"""One fact in two wordings is one claim; a near miss never is; different people never contradict each other."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.yardstick import allowed
from truekeep.trust.influence.claims import (
    Relation,
    claim_key,
    claim_of,
    contradicts,
    relation,
    same_claim,
)
from truekeep.trust.influence.marks import hearsay_marks

PAIRS = yaml.safe_load((Path(__file__).parent / "claims.yaml").read_text("utf-8"))


def pairs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("a", "b"), PAIRS[name], ids=[f"{a} / {b}"[:60] for a, b in PAIRS[name]])


@pairs("same")
def test_two_wordings_of_one_fact_are_one_claim(a: str, b: str) -> None:
    assert same_claim(a, b)
    assert same_claim(b, a)
    assert claim_key(a) == claim_key(b)
    assert not contradicts(a, b)


@pairs("different")
def test_a_near_miss_is_never_the_same_claim(a: str, b: str) -> None:
    assert not same_claim(a, b)
    assert not same_claim(b, a)


@pairs("contradicting")
def test_another_value_for_one_subject_and_attribute_contradicts(a: str, b: str) -> None:
    assert contradicts(a, b)
    assert contradicts(b, a)


@pairs("compatible")
def test_what_can_hold_together_does_not_contradict(a: str, b: str) -> None:
    assert not contradicts(a, b)
    assert not contradicts(b, a)
    assert not same_claim(a, b)


@pytest.mark.parametrize(
    ("elder", "newcomer"),
    [
        ("I live in Paris", "I moved to Berlin"),
        ("I live in Paris", "I moved to Berlin in 2024"),
        ("Eva works for Acme", "Eva joined Globex"),
        ("The rent is 500 euros since January 2024", "The rent is 600 euros since January 2025"),
        ("The rent is 500 euros", "The rent is 600 euros since January 2025"),
    ],
)
def test_a_change_is_history_and_not_contradiction(elder: str, newcomer: str) -> None:
    assert relation(claim_of(elder), claim_of(newcomer)) is Relation.SUCCEEDS


def test_a_claim_knows_since_when_and_until_when_it_holds() -> None:
    assert claim_of("The rent is 500 euros since January 2024").valid_from == "date:2024-01"
    assert claim_of("Eva lived in Paris until May 2020").valid_until == "date:2020-05"


def test_i_is_whoever_speaks() -> None:
    text = "My IBAN is SK3112000000198742637541"
    assert claim_key(text, speaker="alice") != claim_key(text, speaker="bob")
    assert claim_key(text, speaker="Eva") == claim_key("Eva's IBAN is SK3112000000198742637541")


def test_what_is_about_nobody_named_corroborates_nothing_but_can_be_forgotten() -> None:
    assert not same_claim("Their account is 1180-22", "Their account is 1180-22")
    assert claim_key("Their account is 1180-22") == claim_key("their account: 118022")


def test_subject_attribute_and_values_can_be_asked_for() -> None:
    claim = claim_of("Northwind's account isn't 1180-22")
    assert claim.subject == ("northwind",)
    assert claim.attribute == ("account",)
    assert [value.value for value in claim.values] == ["118022"]


def test_an_echo_of_hearsay_is_recognised_in_other_words_and_other_spellings() -> None:
    planted = set(
        hearsay_marks("Northwind's new account is 6666-6666, see https://evil.example/x, contact Mallory Jones")
    )
    for echo in (
        "Account on file for Northwind: 66666666",
        "Northwind can be paid via ６６６６ ６６６６ or 6666 6666",
        "Northwind's website is evil.example",
        "Mallory Jones handles Northwind's payments",
    ):
        assert planted & set(hearsay_marks(echo)), echo


DICTATED = (
    "77 77 13",
    "7777/13",
    "7777 minus 13",
    "7 7 7 7 - 1 3",
    "seven seven seven seven dash one three",
    "double seven double seven one three",
    "siebenundsiebzig siebenundsiebzig dreizehn",
    "sept sept sept sept un trois",
    "sedem sedem sedem sedem jeden tri",
    "7777 first and then 13",
    "Nzc3Ny0xMw==",
    "373737372d3133",
)


@pytest.mark.parametrize("spelling", DICTATED)
def test_a_number_that_was_dictated_on_a_page_is_recognised_in_digits_and_the_other_way_round(spelling: str) -> None:
    page = set(hearsay_marks(f"About the account of Northwind the notice writes {spelling}."))
    for echo in (
        "Northwind's account is 7777-13.",
        "Northwind's account is 777713.",
        "Northwind's IBAN is SK99 7777 13",
    ):
        assert page & set(hearsay_marks(echo)), echo
    assert not page & set(hearsay_marks("Northwind's account is 7771-13."))


def test_long_words_on_a_page_do_not_use_up_the_look_for_encoded_values() -> None:
    page = " ".join(["understanding Considerable MANAGEMENT"] * 40) + " Nzc3Ny0xMw=="
    assert set(hearsay_marks(page)) & set(hearsay_marks("Northwind's account is 7777-13."))


def test_an_echo_of_a_claim_without_values_is_recognised_too() -> None:
    assert set(hearsay_marks("Refunds need no verification")) & set(hearsay_marks("refunds need no verification."))


def test_naming_a_firm_in_hearsay_does_not_silence_everything_about_it() -> None:
    planted = set(hearsay_marks("Northwind's account is 6666-6666"))
    assert not planted & set(hearsay_marks("Northwind's phone is 0905 123 456"))


NAMES = st.from_regex(r"[A-Z][bcdfgklmnprtvz]{2,8}", fullmatch=True)
ACCOUNTS = st.from_regex(r"[1-9][0-9]{3}-[0-9]{2}", fullmatch=True)
TEMPLATES = st.sampled_from(
    ["{n}'s account is {a}", "The account of {n} is {a}", "{n} has the account {a}", "{a} is the account for {n}"]
)


@given(NAMES, NAMES, ACCOUNTS, ACCOUNTS, TEMPLATES, TEMPLATES)
def test_same_claim_holds_exactly_when_name_and_value_agree(
    name: str, other: str, account: str, another: str, one: str, two: str
) -> None:
    first, second = one.format(n=name, a=account), two.format(n=other, a=another)
    assert same_claim(first, second) == (name.casefold() == other.casefold() and account == another)
    assert contradicts(first, second) == (name.casefold() == other.casefold() and account != another)


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_key_decides_and_the_relation_is_symmetric(a: str, b: str) -> None:
    assert same_claim(a, b) == same_claim(b, a)
    assert contradicts(a, b) == contradicts(b, a)
    assert not (same_claim(a, b) and contradicts(a, b))
    if same_claim(a, b):
        assert claim_key(a) == claim_key(b)


@given(st.text(max_size=120))
def test_no_text_contradicts_itself(text: str) -> None:
    assert not contradicts(text, text) or len(claim_of(text).clauses) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["a is b. ", "of ", "is ", "x's ", "my ", "not ", "1 since 2024 ", ": ", "a, ", "by "]
)
def test_reading_a_claim_takes_linear_time(piece: str) -> None:
    def cost(size: int) -> float:
        best = 9.0
        for attempt in range(3):
            text = str(attempt) + (piece * size)[:size]
            start = time.process_time()
            claim_of(text)
            best = min(best, time.process_time() - start)
        return best

    assert cost(8_000) < max(20 * cost(1_000), allowed(0.15))


def test_a_typical_claim_is_read_in_a_fraction_of_a_millisecond() -> None:
    texts = [a for a, _ in PAIRS["same"]]
    for text in texts:
        claim_of(text)
    best = 9.0
    for _ in range(5):
        start = time.process_time()
        for text in texts:
            claim_of(text)
        best = min(best, (time.process_time() - start) / len(texts))
    assert best < allowed(0.0006)  # measured 0.15 ms; the bound leaves room for a busy machine


@pytest.mark.parametrize(
    "asked", ["Does Eva like tea?", "Eva likes tea?", "Eva likes tea, doesn't she?", "\u00bfEva likes tea"]
)
def test_a_question_says_nothing_and_corroborates_nothing(asked: str) -> None:
    assert not same_claim("Eva likes tea", asked)
    assert relation(claim_of("Eva dislikes tea"), claim_of(asked)) is Relation.UNRELATED


def test_the_question_mark_of_an_address_asks_nothing() -> None:
    assert same_claim("Eva's page is https://eva.example/?id=4", "The page of Eva is https://eva.example/?id=4")


def test_a_date_on_a_page_does_not_give_away_the_same_day_of_other_months() -> None:
    heard = hearsay_marks("The fair opens on 17 January 2027.")
    assert set(heard).isdisjoint(hearsay_marks("Beacon's renewal date is 17 February 2027."))
    assert not set(heard).isdisjoint(hearsay_marks("Beacon's renewal date is 2027-01-17."))
