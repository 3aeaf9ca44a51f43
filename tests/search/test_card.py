"""The index card of a memory."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.search.card import MAX_SPEAKER_TERMS, Card, describe, passage, spoken_by, values_in
from truekeep.search.deck import unpack
from truekeep.search.terms import term, terms


@given(
    st.text(max_size=120), st.none() | st.text(max_size=30), st.none() | st.text(max_size=30), st.none() | st.dates()
)
def test_a_card_comes_back_from_its_blob(text: str, speaker: str | None, thread: str | None, day: date | None) -> None:
    card = describe(text, speaker=speaker, thread=thread, day=day)
    deck = unpack([b"", card.to_bytes(), b"\x00" * 40])
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


@given(st.text(max_size=40), st.text(min_size=1, max_size=9), st.binary(min_size=1, max_size=9), st.integers(1, 12))
def test_a_vector_counts_for_its_own_model_and_size(text: str, model: str, vector: bytes, size: int) -> None:
    card = describe(text)
    deck = unpack([card.to_bytes(), card.to_bytes(model, vector), card.to_bytes(f"{model}2", vector)], model, size)
    assert deck.kept.tolist() == [0, 1, 2]
    assert deck.terms.tolist() == 3 * list(card.terms)
    assert deck.vectors.tolist() == [0, len(vector) // size if len(vector) % size == 0 else 0, 0]


WORD = st.integers(0, 2**32 - 1)
CARDS = st.builds(
    Card,
    terms=st.lists(WORD, max_size=4).map(tuple),
    speaker=st.lists(WORD, max_size=4).map(tuple),
    thread=st.integers(0, 2**64 - 1),
    day=WORD,
    flags=st.integers(0, 255),
    wording=st.integers(0, 2**64 - 1),
)
WHOLE = st.builds(Card.to_bytes, CARDS, st.sampled_from(["m", "other"]), st.binary(max_size=9), st.binary(max_size=9))
BLOBS = st.one_of(
    st.binary(max_size=60),
    WHOLE,
    st.builds(lambda blob, end: blob[:end], WHOLE, st.integers(0, 60)),
    st.builds(
        lambda blob, place, byte: blob[:place] + bytes([byte]) + blob[place + 1 :],
        WHOLE,
        st.integers(0, 40),
        st.integers(0, 255),
    ),
)


@given(st.lists(BLOBS, max_size=5), st.integers(0, 9))
def test_any_bytes_are_read_or_left_out_never_a_crash_and_one_by_one_like_all_at_once(
    blobs: list[bytes], size: int
) -> None:
    deck = unpack(blobs, "m", size)
    read = [(place, *found) for place, blob in enumerate(blobs) if (found := Card.from_bytes(blob)) is not None]
    assert deck.kept.tolist() == [place for place, _, _, _ in read]
    assert deck.speakers == [card.speaker for _, card, _, _ in read]
    assert deck.lengths.tolist() == [len(card.terms) for _, card, _, _ in read]
    assert deck.terms.tolist() == [term for _, card, _, _ in read for term in card.terms]
    assert deck.vectors.tolist() == [
        len(vector) // size if name == b"m" and size and len(vector) % size == 0 else 0 for _, _, name, vector in read
    ]
    columns = zip(deck.flags.tolist(), deck.day.tolist(), deck.thread.tolist(), deck.wording.tolist(), strict=True)
    assert list(columns) == [(card.flags, card.day, card.thread, card.wording) for _, card, _, _ in read]


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


@given(CARDS, st.binary(max_size=20), st.binary(max_size=9))
def test_the_values_of_a_text_are_kept_beside_what_search_knows(card: Card, values: bytes, vector: bytes) -> None:
    if len(card.speaker) > MAX_SPEAKER_TERMS:
        return
    blob = card.to_bytes("m", vector, values)
    assert values_in(blob) == values
    assert values_in(None) is values_in(b"") is values_in(blob[:-1]) is None
