"""What a model returns is checked for its form; what it says is for the screens to judge."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.extract import events
from truekeep.extract.failure import ModelError
from truekeep.extract.output import OutputRefused, checked_drafts, read_reply, validate_memory

FINE: dict[str, Any] = {"text": "Ana lives in Porto", "type": "semantic", "topics": ["home"], "entities": ["Porto"]}


def code(**changes: Any) -> str:
    with pytest.raises(OutputRefused) as caught:
        validate_memory(FINE | changes)
    return caught.value.code


def test_a_memory_of_the_right_form_passes() -> None:
    draft = validate_memory(FINE | {"quotes": [{"quote": "I live in Porto", "message_id": "m1"}]})
    assert (draft.text, draft.kind) == ("Ana lives in Porto", "semantic")
    assert draft.quotes == (("I live in Porto", "m1"),)


@pytest.mark.parametrize("text", ["x", "x" * 1_000])
def test_texts_of_one_to_a_thousand_characters_pass(text: str) -> None:
    assert validate_memory(FINE | {"text": text}).text == text


@pytest.mark.parametrize("text", ["", "  ", "x" * 1_001, 123, None, ["a"], "a\x00b", "a\x1b[2Jb", "\ud800"])
def test_other_texts_are_refused(text: Any) -> None:
    assert code(text=text) == "memory_text"


@pytest.mark.parametrize("kind", ["procedural", "message", "", None, 1, "Semantic", ["semantic"]])
def test_only_semantic_and_episodic_are_types(kind: Any) -> None:
    assert code(type=kind) == "memory_type"


def test_a_missing_type_is_refused() -> None:
    with pytest.raises(OutputRefused):
        validate_memory({"text": "Ana lives in Porto"})


@pytest.mark.parametrize(
    "field",
    ["owner", "pinned", "created_at", "event_date", "id", "standing", "channel", "user_id", "namespace", "__class__"],
)
def test_fields_a_model_may_not_set_are_refused(field: str) -> None:
    assert code(**{field: "mallory"}) == "memory_extra_field"


@pytest.mark.parametrize("name", ["topics", "entities"])
@pytest.mark.parametrize("value", ["home", ["x" * 101], [1], [""], ["a"] * 33, {"a": 1}, None])
def test_topics_and_entities_are_short_lists_of_short_texts(name: str, value: Any) -> None:
    assert code(**{name: value}) == f"memory_{name}"


@pytest.mark.parametrize(
    "quotes",
    [
        "I live in Porto",
        [{"quote": ""}],
        [{"quote": "x" * 2_001}],
        [{"quote": "a", "message_id": 7}],
        [{"quote": "a", "proved": True}],
        [{"message_id": "m1"}],
        [{"quote": "a"}] * 21,
    ],
)
def test_quotes_of_the_wrong_form_are_refused(quotes: Any) -> None:
    assert code(quotes=quotes) == "memory_quotes"


@pytest.mark.parametrize(
    "text",
    [
        "Ana has an important meeting",
        "Ana studies medieval history",
        "Ana builds distributed systems",
        "Ana executes songs by Bach on the organ",
        "Ana imports olive oil",
    ],
)
def test_honest_words_that_contain_bad_substrings_pass(text: str) -> None:
    assert validate_memory(FINE | {"text": text}).text == text


def test_one_bad_memory_does_not_cost_the_good_ones_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    bad = FINE | {"pinned": True, "text": "zanzibar"}
    with caplog.at_level(logging.DEBUG, logger="truekeep"):
        drafts = checked_drafts([FINE, bad, "not a memory"], strategy="discrete")
    assert [draft.text for draft in drafts] == ["Ana lives in Porto"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.WARNING]
    assert "Filtered potentially unsafe memory code=memory_extra_field strategy=discrete" in caplog.text
    assert "zanzibar" not in caplog.text
    assert events.counters()[events.MEMORY_FILTERED]["memory_not_an_object"] >= 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
)


@given(JSON | st.fixed_dictionaries({"text": JSON, "type": JSON, "topics": JSON, "quotes": JSON}))
def test_any_value_is_either_refused_or_within_all_limits(value: Any) -> None:
    try:
        draft = validate_memory(value)
    except OutputRefused:
        return
    assert 1 <= len(draft.text) <= 1_000
    assert draft.kind in ("semantic", "episodic")


@given(st.text(max_size=200))
def test_any_reply_is_a_list_or_a_model_error(reply: str) -> None:
    try:
        assert isinstance(read_reply(reply), list)
    except ModelError as error:
        assert error.code in ("model_broken_json", "model_wrong_form")  # noqa: PT017 - the other branch is fine too
