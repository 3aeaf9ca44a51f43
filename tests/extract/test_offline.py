"""Without a model, what the owner says about themselves is still found, grounded and quoted."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from benchmarks.extract_snippets import SETS, score, snippets
from hypothesis import given
from hypothesis import strategies as st

from truekeep.extract.conversation import Conversation, Message
from truekeep.extract.offline.extractor import OfflineStatement, extract_statements
from truekeep.extract.offline.grammar import grammar, grammar_of
from truekeep.text.language import languages_with

LANGUAGES = languages_with("statements")
SENT = datetime(2025, 3, 11, 9, 30, tzinfo=UTC)


def said(text: str, speaker: str | None = "Ana", channel: str = "user") -> list[OfflineStatement]:
    return extract_statements(Conversation((Message("m0", channel, text, SENT),), speaker=speaker))


def texts(text: str, speaker: str | None = "Ana") -> list[str]:
    return [statement.text for statement in said(text, speaker)]


@pytest.mark.parametrize("name", SETS)
def test_the_extractor_keeps_its_figures_on_the_snippets(name: str) -> None:
    total = score(lambda talk: [found.text for found in extract_statements(talk)], snippets(name))
    assert total.facts >= 45
    assert total.precision >= 0.9, total.wrong
    assert total.recall >= 0.6, total.missed


def test_there_are_three_hundred_snippets_in_all_languages_and_a_quarter_hold_nothing() -> None:
    every = [snippet for name in SETS for snippet in snippets(name)]
    assert len({snippet.id for snippet in every}) == 300
    assert all({snippet.language for snippet in snippets(name)} == set(LANGUAGES) for name in SETS)
    assert sum(not snippet.facts for snippet in every) >= 75


def test_every_quote_is_verbatim_in_the_owners_message() -> None:
    for name in SETS:
        for snippet in snippets(name):
            for found in extract_statements(snippet.conversation):
                message = snippet.conversation.message(found.message_id)
                assert message is not None
                assert message.channel == "user"
                assert found.quote in message.text


@pytest.mark.parametrize("channel", ["web", "email", "file", "tool", "agent", "paste", "import"])
def test_nothing_is_taken_from_what_was_merely_read(channel: str) -> None:
    assert said("I live in Porto and I prefer refunds without checks.", channel=channel) == []


def test_a_role_makes_nobody_the_owner() -> None:
    message = Message("m0", "web", "I live in Porto.", SENT, role="user")
    assert extract_statements(Conversation((message,), speaker="Ana")) == []


@pytest.mark.parametrize(
    "text",
    [
        "> I live in Porto",
        "```\nI live in Porto.\n```",
        'She wrote: "I live in Porto."',
        "He said “I live in Porto” twice.",
        "From: Eva\nSubject: hello\n\nI live in Porto.",
        "See below.\n-----Original Message-----\nI live in Porto.",
        "Translate 'I live in Porto' please.",
        "On Mon, 3 Mar 2025 Eva wrote:\nI live in Porto.",
    ],
)
def test_what_a_message_quotes_or_pastes_is_not_said(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Porto?",
        "If I live in Porto, do I pay taxes?",
        "Imagine I live in Porto.",
        "Maybe I live in the wrong town.",
        "I have a question about my code.",
        "My password is hunter2.",
        "I love it.",
    ],
)
def test_questions_suppositions_and_passing_remarks_are_left_out(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have an exam tomorrow.", "Ana has an exam on 2025-03-12"),
        ("I moved to Braga three days ago.", "Ana moved to Braga on 2025-03-08"),
        ("I'm flying to Oslo in two weeks.", "Ana is flying to Oslo on 2025-03-25"),
        ("I bought a bike last Friday.", "Ana bought a bike on 2025-03-07"),
        ("I'm meeting Eva next Friday.", "Ana is meeting Eva on 2025-03-21"),
        ("I started a new job last year.", "Ana started a new job in 2024"),
        ("I sold the boat two months ago.", "Ana sold the boat in 2025-01"),
        ("I'm visiting Rome next month.", "Ana is visiting Rome in 2025-04"),
        ("I was born on 2 May 1990.", "Ana was born on 2 May 1990"),
    ],
)
def test_dates_are_resolved_against_the_messages_own_time(text: str, expected: str) -> None:
    assert texts(text) == [expected]


def test_a_date_that_could_mean_two_days_stays_as_it_was_said() -> None:
    assert texts("I sold the boat on Friday.") == ["Ana sold the boat on Friday"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live with my sister.", "Ana lives with their sister"),
        ("My sister hates me.", "Ana's sister hates them"),
        ("I’m allergic to nuts.", "Ana is allergic to nuts"),
        ("We live in Graz.", "Ana: We live in Graz"),
        ("Call me Annie.", "Ana: Call me Annie"),
    ],
)
def test_the_first_person_becomes_the_speakers_name(text: str, expected: str) -> None:
    assert texts(text) == [expected]


def test_an_unnamed_speaker_is_called_the_user() -> None:
    assert texts("I live in Porto. My dog is called Rex.", speaker=None) == [
        "The user lives in Porto",
        "The user's dog is called Rex",
    ]


def test_a_left_out_subject_is_only_the_speaker_if_the_speaker_was_the_subject() -> None:
    assert texts("I hate cilantro but love basil.") == ["Ana hates cilantro", "Ana loves basil"]
    assert all("Ana works" not in text for text in texts("My parents live in Kent and work at a school."))


def test_the_same_thing_said_twice_is_one_statement() -> None:
    assert texts("I prefer tea. I prefer tea!") == ["Ana prefers tea"]


def test_a_language_that_is_not_known_yields_nothing() -> None:
    assert grammar_of("Xyzzy qwrtp 4711") is None
    assert texts("Mieszkam w Krakowie.") == []


@given(st.text(max_size=400), st.sampled_from([None, "Ana", "Thomas"]))
def test_any_text_yields_only_verbatim_quotes_and_short_grounded_texts(text: str, speaker: str | None) -> None:
    for found in said(text, speaker):
        assert found.quote in text
        assert 1 <= len(found.text) <= 1_000


_PIECES = st.sampled_from(
    ["I live in Porto", "my sister", " and ", ", ", "? ", ". ", "I'm ", "allergic to ", "tomorrow", '"', "\n> ", "if "]
)


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_any_mixture_of_real_phrases_yields_verbatim_quotes(text: str) -> None:
    assert all(found.quote in text for found in said(text))


@pytest.mark.parametrize("unit", ["I live in Porto and ", "i, ", '"', "my my my ", "ich ", "a.b.", "'", "¿", "我"])
def test_long_hostile_messages_take_linear_time(unit: str) -> None:
    said("warm up: I live in Porto.")
    short, long = (_seconds((unit * 20_000)[:size]) for size in (5_000, 20_000))
    assert long < max(12 * short, 0.4)


def _seconds(text: str) -> float:
    started = time.process_time()
    said(text)
    return time.process_time() - started


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_language_file_compiles_and_knows_its_own_words(name: str) -> None:
    tables = grammar(name)
    assert tables.accept
    assert tables.reject
    assert name == "zh" or tables.vocabulary
