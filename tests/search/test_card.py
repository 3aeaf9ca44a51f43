"""The index card of a memory."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.search.card import describe, passage, spoken_by, unpack
from truekeep.search.words import term, terms


@given(
    st.text(max_size=120), st.none() | st.text(max_size=30), st.none() | st.text(max_size=30), st.none() | st.dates()
)
def test_a_card_comes_back_from_its_blob(text: str, speaker: str | None, thread: str | None, day: date | None) -> None:
    card = describe(text, speaker=speaker, thread=thread, day=day)
    deck = unpack([b"", card.to_bytes(), b"\x00" * 24])
    assert deck.kept.tolist() == [1]
    assert tuple(deck.terms.tolist()) == card.terms
    assert deck.lengths.tolist() == [len(card.terms)]
    assert deck.speakers == [card.speaker]
    assert (deck.thread[0], deck.day[0], deck.flags[0], deck.wording[0]) == (
        card.thread,
        card.day,
        card.flags,
        card.wording,
    )


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_are_read_or_left_out_never_a_crash(blobs: list[bytes]) -> None:
    deck = unpack(blobs)
    assert len(deck.kept) == len(deck.speakers) == len(deck.lengths)
    assert deck.lengths.sum() == len(deck.terms)


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("Eva: I moved to Brno", "Eva"),
        ("[8 May 2024] Eva Nová: I moved", "Eva Nová"),
        ("(10:30) O'Brien: yes", "O'Brien"),
        ("Note: buy milk", None),
        ("https://example.org/x", None),
        ("eva: I moved", None),
        ("She said: I moved", None),
        ("10:30 is too early", None),
        ("Eva:", None),
        ("I moved to Brno", None),
    ],
)
def test_a_turn_of_dialogue_names_its_speaker(text: str, speaker: str | None) -> None:
    assert spoken_by(text) == speaker


def test_the_speaker_is_embedded_once() -> None:
    assert passage("I moved", "Eva") == passage("Eva: I moved", "Eva") == "Eva: I moved"
    assert passage("I moved", None) == "I moved"


def test_turns_of_one_day_belong_together_and_facts_do_not() -> None:
    day = date(2026, 3, 1)
    assert describe("Eva: hello", day=day).thread == describe("Jan: hello", day=day).thread != 0
    assert describe("I prefer dark mode", day=day).thread == 0


def test_the_words_of_a_label_stay_searchable() -> None:
    assert term("address") in describe("Address: 5 High Street").terms
    assert set(terms("5 High Street")) <= set(describe("Home: 5 High Street").terms)
