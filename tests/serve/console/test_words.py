"""Every language of the console says the same things, with the same places to fill."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from truekeep.serve.console.words import LANGUAGES, chosen, words

ENGLISH = words("en")


def places(value: object) -> set[str]:
    texts = value.values() if isinstance(value, dict) else [value]
    return {name for text in texts for _, name, _, _ in Formatter().parse(str(text)) if name is not None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_key_and_the_same_places(language: str) -> None:
    other = words(language)
    assert set(other._known) == set(ENGLISH._known)
    for key, value in ENGLISH._known.items():
        assert places(other._known[key]) == places(value), key
        assert isinstance(other._known[key], dict) == isinstance(value, dict), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_counted_words_have_the_forms_of_their_language(language: str) -> None:
    counted = {key: value for key, value in words(language)._known.items() if isinstance(value, dict)}
    needed = {"one", "few", "other"} if language == "sk" else {"one", "other"}
    assert counted
    assert {key for key, forms in counted.items() if set(forms) != needed} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_holds_markup(language: str) -> None:
    for key, value in words(language)._known.items():
        assert not re.search(r"[<>]|&\w+;", str(value)), key


def test_slovak_counts_as_slovak_does() -> None:
    slovak = words("sk")
    told = [slovak.n("frame.events", count).split()[1] for count in (1, 3, 5, 0)]
    assert told == ["udalosť", "udalosti", "udalostí", "udalostí"]


@pytest.mark.parametrize(
    ("wished", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "sk-SK,sk;q=0.9,en;q=0.8", "sk"),
        (None, "de, en;q=0.5, sk;q=0.7", "sk"),
        (None, "sk;q=0, en", "en"),
        (None, "xx;q=banana,,;;", "en"),
        ("sk", "en", "sk"),
        ("../../etc", "sk", "sk"),
    ],
)
def test_the_language_is_the_one_wished_for_or_the_first_accepted(
    wished: str | None, accepted: str, language: str
) -> None:
    assert chosen(wished, accepted) == language


def test_what_is_filled_in_is_not_read_as_a_place() -> None:
    assert ENGLISH.t("frame.welcome", name="{0.__class__}") == "Welcome, {0.__class__}"
