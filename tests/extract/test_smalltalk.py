"""Greetings, thanks, acknowledgements and empty commands are not remembered, in any language that is supported."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from truekeep.extract.smalltalk import is_small_talk
from truekeep.text.language import languages_with

CASES: dict[str, dict[str, list[str]]] = yaml.safe_load(
    (Path(__file__).parent / "data" / "smalltalk.yaml").read_text("utf-8")
)
SUPPORTED = {"en", "de", "es", "fr", "it", "pt", "sk", "cs", "zh", "pl"}


def texts(kind: str) -> list[tuple[str, str]]:
    return [(language, text) for language, cases in CASES.items() for text in cases[kind]]


@pytest.mark.parametrize(("language", "text"), texts("left_out"))
def test_what_says_nothing_is_small_talk(language: str, text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(("language", "text"), texts("kept"))
def test_what_has_a_name_a_value_a_date_or_anything_else_is_kept(language: str, text: str) -> None:
    assert not is_small_talk(text)


def test_every_supported_language_has_a_table_and_cases() -> None:
    assert set(CASES) == set(languages_with("smalltalk")) == SUPPORTED


def test_a_long_message_is_never_small_talk() -> None:
    assert not is_small_talk("ok " * 100)
