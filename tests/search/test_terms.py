"""How text becomes terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.search.terms import other_terms, stem, term, terms, wording
from truekeep.text.words import words


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


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("de", "Fahrkarten", "Fahrkarte"),
        ("de", "Züge", "Zug"),
        ("fr", "réunions", "réunion"),
        ("es", "trabajando", "trabajo"),
        ("it", "lavorando", "lavoro"),
        ("pt", "reuniões", "reuniõe"),
        ("nl", "vergaderingen", "vergadering"),
    ],
)
def test_forms_of_one_word_share_a_term_in_their_language(name: str, one: str, other: str) -> None:
    assert terms(one, name) == terms(other, name) != []


@pytest.mark.parametrize(
    ("name", "text"), [("de", "wo ist der"), ("sk", "kde je to"), ("fr", "où est la"), ("pl", "gdzie jest")]
)
def test_stop_words_are_no_terms_in_their_language(name: str, text: str) -> None:
    assert terms(text, name) == []


def test_a_word_is_known_by_its_term_in_any_language() -> None:
    assert term("kickers", "de") != term("kickers", "en")
    assert term("kickers", "de") in other_terms("kickers", "en")
    assert term("kickers", "en") in other_terms("kickers", "de")


def test_the_stems_are_those_that_stored_cards_were_made_with() -> None:
    """Should this fail after an upgrade of the stemmer, raise the version of the index cards with it."""
    stems = {
        "en": {"relational": "relat", "hopping": "hop", "conditional": "condit", "vietnamization": "vietnam"},
        "de": {"aufeinanderfolgenden": "aufeinanderfolg", "kategorien": "kategori"},
        "fr": {"continuellement": "continuel", "majestueusement": "majestu"},
        "es": {"cheques": "chequ", "torneadas": "torn"},
        "it": {"abbandonata": "abbandon", "pronunciato": "pronunc"},
        "pt": {"quilometragem": "quilometrag", "boataria": "boat"},
        "nl": {"lichamelijkheden": "lichamelijk", "vergaderingen": "vergader"},
    }
    assert {name: {word: stem(word, name) for word in known} for name, known in stems.items()} == stems


def test_characters_that_unfold_to_many_do_not_multiply_the_work() -> None:
    assert len("".join(words("\ufdfa" * 8_000))) <= 3 * 8_000 + 64


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
