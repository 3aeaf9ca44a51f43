"""Filling in a template never evaluates anything, whatever the template and whatever the values."""

from __future__ import annotations

import logging
import string
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from truekeep.errors import PromptSecurityError
from truekeep.extract.prompt_safety import (
    MAX_OUTPUT,
    MAX_VALUE,
    merge_variables,
    restore_braces,
    secure_format_prompt,
)

TRICKS = yaml.safe_load((Path(__file__).parent / "data" / "template_tricks.yaml").read_text(encoding="utf-8"))
SETTINGS = SimpleNamespace(settings=SimpleNamespace(api_key="sk-not-for-you"))


def refusal(*args: Any, **values: Any) -> PromptSecurityError:
    with pytest.raises(PromptSecurityError) as caught:
        secure_format_prompt(*args, **values)
    return caught.value


def test_plain_names_are_filled_in() -> None:
    assert secure_format_prompt("Read: {message}", {"message"}, message="hello") == "Read: hello"
    assert secure_format_prompt("{a}-{b}-{a}", {"a", "b"}, a=1, b=True) == "1-True-1"


def test_doubled_braces_come_out_as_literal_ones() -> None:
    filled = secure_format_prompt('{{"text": "{message}"}}', {"message"}, message="hi")
    assert filled == '{"text": "hi"}'


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: repr(trick["template"]))
@pytest.mark.parametrize("allowed", [{"message", "context"}, None], ids=["allowlist", "no allowlist"])
def test_no_template_trick_reaches_a_real_object(trick: dict[str, str], allowed: set[str] | None) -> None:
    error = refusal(trick["template"], allowed, message="hello", context=SETTINGS)
    assert error.code == trick["code"]
    assert "sk-not-for-you" not in str(error.as_dict())


def test_an_object_is_no_value_even_under_an_allowed_name() -> None:
    assert refusal("{context}", {"context"}, context=SETTINGS).code == "template_value_type"


@pytest.mark.parametrize("value", [object(), {"a": 1}, {"x"}, b"x", [1], ["a", None], 10**100, 1j, Exception("x"), len])
def test_values_of_other_kinds_are_refused(value: object) -> None:
    assert refusal("{message}", {"message"}, message=value).code == "template_value_type"


def test_the_methods_of_a_value_are_never_called() -> None:
    class Text(str):
        def __str__(self) -> str:
            raise AssertionError

        def __format__(self, spec: str) -> str:
            raise AssertionError

        def translate(self, _: Any, /) -> str:
            raise AssertionError

    assert secure_format_prompt("{message}", {"message"}, message=Text("mine")) == "mine"


def test_a_time_zone_with_code_in_it_is_refused() -> None:
    class Zone(tzinfo):
        def utcoffset(self, _: datetime | None, /) -> timedelta:
            raise AssertionError

        def dst(self, _: datetime | None, /) -> timedelta:
            raise AssertionError

        def tzname(self, _: datetime | None, /) -> str:
            raise AssertionError

    assert refusal("{t}", None, t=datetime(2025, 1, 2, tzinfo=Zone())).code == "template_value_type"


def test_dates_lists_and_enumerated_texts_are_values() -> None:
    class Color(StrEnum):
        RED = "red"

    filled = secure_format_prompt(
        "{a}|{b}|{c}|{d}|{e}", None, a=date(2025, 3, 1), b=datetime(2025, 3, 1, 8, tzinfo=UTC), c=["x", "y"],
        d=Color.RED, e=None,
    )  # fmt: skip
    assert filled == "2025-03-01|2025-03-01T08:00:00+00:00|x, y|red|"


def test_an_empty_allowlist_allows_nothing() -> None:
    assert refusal("{message}", set(), message="x").code == "template_variable"
    assert secure_format_prompt("no fields", set(), message="x") == "no fields"


def test_a_name_outside_the_allowlist_is_refused_even_if_it_has_a_value() -> None:
    assert refusal("{secret}", {"message"}, message="x", secret="y").code == "template_variable"


def test_a_string_is_not_taken_for_an_allowlist() -> None:
    assert refusal("{m}", "message", m="x").code == "template_allowlist"


def test_a_name_without_a_value_is_refused() -> None:
    assert refusal("{message}", {"message"}).code == "template_missing_value"


@pytest.mark.parametrize("allowed", [{"message"}, None])
def test_long_values_are_cut_with_or_without_an_allowlist(allowed: set[str] | None) -> None:
    filled = secure_format_prompt("{message}", allowed, message="x" * 1_000_000)
    assert len(filled) == MAX_VALUE
    assert filled.endswith("…")


def test_a_repeated_field_cannot_make_the_output_grow_without_bound() -> None:
    template = "{message}" * 5_000
    assert refusal(template, {"message"}, message="x" * MAX_VALUE).code == "template_output_too_long"


@given(st.text(max_size=200))
def test_a_value_never_becomes_a_field(value: str) -> None:
    filled = secure_format_prompt("a {message} b", {"message"}, message=value)
    assert not {"{", "}"} & set(filled)
    assert list(string.Formatter().parse(filled)) == [(filled, None, None, None)]


@given(st.text(alphabet="{}ab \n", max_size=60))
def test_braces_in_a_quoted_value_can_be_restored(value: str) -> None:
    assert restore_braces(secure_format_prompt("{message}", {"message"}, message=value)) == value


@given(st.text(alphabet="{}message.[]!:0 ", max_size=60))
def test_any_template_is_either_refused_or_bounded(template: str) -> None:
    try:
        filled = secure_format_prompt(template, {"message"}, message="v")
    except PromptSecurityError:
        return
    assert len(filled) <= MAX_OUTPUT
    assert filled == template.format(message="v")


@pytest.mark.parametrize("name", ["message", "MESSAGE", "ｍessage", "session_id", "user_id", "current_datetime"])
def test_configuration_cannot_replace_a_reserved_variable(name: str) -> None:
    with pytest.raises(PromptSecurityError) as caught:
        merge_variables({"message": "the real one"}, {name: "planted"})
    assert caught.value.code == "reserved_variable"


def test_configuration_may_add_its_own_variables() -> None:
    assert merge_variables({"message": "m"}, {"team": "blue"}) == {"message": "m", "team": "blue"}


def test_a_formatting_refusal_is_logged_as_an_error_without_values(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="truekeep"):
        refusal("{message.x}", {"message"}, message="zanzibar")
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "Template formatting security error" in record.getMessage()
    assert "zanzibar" not in caplog.text
