"""How text becomes terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.search.stem import stem
from truekeep.search.words import terms, wording, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("painting", "painted"),
        ("preferences", "prefer"),
        ("hobbies", "hobby"),
        ("relational", "relate"),
        ("hopping", "hops"),
        ("CAFÉS", "cafe"),
        ("ｆｕｌｌ", "full"),
        ("Eva's", "eva"),
    ],
)
def test_forms_of_one_word_share_a_term(one: str, other: str) -> None:
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize(("one", "other"), [("port", "portrait"), ("sand", "sandy"), ("bus", "business"), ("12", "13")])
def test_different_words_do_not(one: str, other: str) -> None:
    assert terms(one) != terms(other)


def test_stop_words_are_no_terms_but_negation_is() -> None:
    assert terms("the of and is") == []
    assert terms("I don't eat meat") == [*terms("not"), *terms("eat meat")]


def test_scripts_without_spaces_are_found_by_their_parts() -> None:
    assert set(terms("東京")) <= set(terms("私は東京に住んでいます"))
    assert set(terms("서울")) & set(terms("나는 서울에 산다"))


@given(st.text(max_size=200))
def test_any_text_has_terms_of_32_bits(text: str) -> None:
    assert all(0 < number < 2**32 for number in terms(text))


@given(st.from_regex(r"[a-z]{1,45}", fullmatch=True))
def test_a_stem_is_never_longer_than_its_word_and_never_empty(word: str) -> None:
    assert 0 < len(stem(word)) <= len(word) + 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Brno.", "i  live in BRNO"),
        ("I really like the tea!", "I like tea"),
        ("I'm allergic to nuts", "I am allergic to nuts"),
    ],
)
def test_texts_that_differ_in_form_only_have_one_wording(one: str, other: str) -> None:
    assert wording(words(one)) == wording(words(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pay Eva from Jan", "Pay Jan from Eva"),
        ("I eat meat", "I do not eat meat"),
        ("Transfer to her account", "Transfer to his account"),
        ("The code is 12", "The code is 13"),
        ("I can go", "I could go"),
    ],
)
def test_texts_that_claim_different_things_do_not(one: str, other: str) -> None:
    assert wording(words(one)) != wording(words(other))
