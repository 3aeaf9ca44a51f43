"""The index as a whole: what it finds, that it follows writes, and what it never lets through."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from truekeep import embed
from truekeep.errors import InvalidRequest
from truekeep.search import Hit, Index, describe, pack, without_vector
from truekeep.search import index as index_module

TODAY = date(2026, 3, 1)
FACTS = (
    "I prefer dark mode in every editor",
    "My dentist is Dr. Novak in Main Street",
    "The deploy window of the billing service is Tuesday at ten in the evening",
    "We run PostgreSQL 16 in production",
    "I am allergic to peanuts",
    "On flights I want an aisle seat",
    "My sister Marta lives in Brno",
    "Invoices go to the accounting mailbox",
)
DIALOGUE = (
    "Eva: Did you ever get round to that course?",
    "Jan: Yes, pottery, every Wednesday since spring.",
    "Eva: Lovely! I started rowing on the lake.",
    "Jan: How often do you go?",
    "Eva: Twice a week, with two colleagues.",
)


def built(texts: Sequence[str], *, thread: str | None = None, vectors: bool = True) -> Index:
    model = embed.default()
    index = Index(model_id=model.model_id, dim=model.dim) if vectors else Index()
    rows = model.embed(texts, "passage") if vectors else [None] * len(texts)
    for seq, (text, row) in enumerate(zip(texts, rows, strict=True)):
        index.add(seq, describe(text, thread=thread, day=TODAY), row)
    return index


def asked(index: Index, text: str, k: int = 5, **options: object) -> list[Hit]:
    allow = options.get("allow")
    query = index.understand(text, today=TODAY, allow=allow)  # type: ignore[arg-type]
    vector = embed.default().embed([query.meaning], "query")[0] if index.dim else None
    return index.search(query, k, vector=vector, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def facts() -> Index:
    return built(FACTS)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("interface preferences", 0),
        ("Who looks after my teeth?", 1),
        ("When can we deploy billing?", 2),
        ("Which database do we use?", 3),
        ("What food should I avoid?", 4),
        ("seat preference when flying", 5),
        ("Where does my sister live?", 6),
        ("Where should invoices be sent?", 7),
    ],
)
def test_the_right_memory_comes_first(facts: Index, question: str, answer: int) -> None:
    assert asked(facts, question)[0].seq == answer


FOREIGN = (
    "Ich habe die Fahrkarten für die Kickers am Schalter gekauft",
    "Mi hermana está trabajando en el hospital de Bilbao",
    "Nous avons réservé deux chambres à Lyon pour les réunions",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Wo gibt es eine Fahrkarte?", 0),
        ("Fahrkarte", 0),
        ("Who has seats for the Kickers?", 0),
        ("¿Dónde trabaja ella?", 1),
        ("Où est la réunion ?", 2),
    ],
)
def test_words_are_found_in_every_inflection_of_their_language_and_in_a_question_of_another(
    question: str, answer: int
) -> None:
    assert asked(built(FOREIGN, vectors=False), question)[0].seq == answer


@pytest.mark.parametrize(
    "question",
    [
        "How deep is the Mariana trench?",
        "Explain the offside rule in hockey",
        "compiler error undefined reference",
        "",
        "the of and",
        "??",
    ],
)
def test_an_unrelated_question_finds_nothing(facts: Index, question: str) -> None:
    assert asked(facts, question) == []


def test_a_related_question_does_not_bring_along_the_rest(facts: Index) -> None:
    assert len(asked(facts, "Where does my sister live?", k=8)) < 4


def test_without_the_floor_everything_is_ranked(facts: Index) -> None:
    assert len(asked(facts, "How deep is the Mariana trench?", k=100, floor=0)) == len(FACTS)


@pytest.mark.parametrize(
    "syntax",
    [
        '"dentist"',
        "dentist*",
        "dentist NEAR teeth",
        "text:dentist",
        "dentist OR -novak",
        "(dentist",
        "dentist' --",
        "^dentist",
    ],
)
def test_nothing_in_a_question_is_syntax(facts: Index, syntax: str) -> None:
    assert asked(facts, syntax)[0].seq == 1


def test_the_speaker_whom_the_question_names_is_preferred() -> None:
    index = built(["Eva: I bought a red bicycle", "Jan: I bought a red bicycle"] * 3)
    hits = asked(index, "Which bicycle did Jan buy?", k=1)
    assert hits[0].seq % 2 == 1


def test_the_turn_before_gives_a_turn_its_context() -> None:
    index = built(DIALOGUE, thread="s-1")
    assert 4 in [hit.seq for hit in asked(index, "How often does Eva go rowing?", k=2)]


def test_the_day_that_the_question_names_is_preferred() -> None:
    index = Index()
    for month in range(1, 13):
        index.add(month, describe("We went to the theatre", day=date(2025, month, 3)))
    query = index.understand("When we went to the theatre last July", today=TODAY)
    assert [hit.seq for hit in index.search(query, 12)][:1] == [7]


def test_copies_are_folded_into_one_hit_which_names_them() -> None:
    index = built([*FACTS, "I am allergic to PEANUTS!", "I am really allergic to peanuts"])
    first = asked(index, "allergic to peanuts")[0]
    assert {first.seq, *first.duplicates} == {4, 8, 9}


def test_of_copies_the_preferred_one_is_shown() -> None:
    index = built([*FACTS, "I am allergic to peanuts"])
    for wanted in (4, 8):
        assert asked(index, "allergic to peanuts", prefer=np.array([wanted]))[0].seq == wanted


@pytest.mark.slow
def test_a_flood_of_copies_does_not_crowd_out_the_rest() -> None:
    index = built([*FACTS, *["My dentist is the fairy in the wood"] * 300])
    assert 1 in [hit.seq for hit in asked(index, "Who is my dentist?", k=3)]


def test_other_claims_in_like_words_are_not_copies() -> None:
    index = built(["The door code is 1234", "The door code is 1243", "The door code is not 1234"], vectors=False)
    assert len(asked(index, "door code")) == 3


def test_explain_says_what_each_signal_added(facts: Index) -> None:
    hit = asked(facts, "Where does my sister live?", explain=True)[0]
    assert {"words", "meaning"} <= set(hit.explain)
    assert list(hit.explain.values()) == sorted(hit.explain.values(), key=lambda part: -abs(part))


def test_a_memory_is_found_as_soon_as_it_is_added_and_no_longer_once_it_is_removed() -> None:
    index = built(FACTS)
    text = "The spare key hangs behind the boiler"
    before = asked(index, "Where is the spare key?")
    index.add(100, describe(text), embed.default().embed([text], "passage")[0])
    assert asked(index, "Where is the spare key?")[0].seq == 100
    index.remove([100, 999])
    assert asked(index, "Where is the spare key?") == before
    assert len(index) == len(FACTS)


def test_a_memory_that_changes_is_found_by_its_new_words_only() -> None:
    index = built(FACTS, vectors=False)
    index.add(4, describe("I am allergic to wasps"))
    assert asked(index, "allergic wasps")[0].seq == 4
    assert asked(index, "peanuts") == []
    assert len(index) == len(FACTS)


def test_memories_without_a_vector_are_still_found_by_their_words() -> None:
    index = built(FACTS)
    index.add(50, describe("The piano tuner is called Horvath"))
    assert asked(index, "Who is the piano tuner?")[0].seq == 50


def test_keywords_alone_find_what_they_can() -> None:
    index = built(FACTS, vectors=False)
    assert asked(index, "Which dentist do I have?")[0].seq == 1
    assert asked(index, "How deep is the Mariana trench?") == []


@pytest.mark.parametrize("k", [0, -1, -(10**9)])
def test_no_hits_are_given_for_k_below_one(facts: Index, k: int) -> None:
    assert asked(facts, "dentist", k=k) == []


def test_a_huge_k_gives_what_there_is(facts: Index) -> None:
    assert len(asked(facts, "dentist", k=10**9)) <= len(FACTS)


@pytest.mark.parametrize("bad", [[float("nan")] * 384, [0.1] * 383, [[[0.1] * 384]], []])
def test_a_vector_that_is_no_vector_is_refused(facts: Index, bad: list[float]) -> None:
    vector: NDArray[np.float32] = np.array(bad, dtype=np.float32)
    with pytest.raises(InvalidRequest):
        facts.add(900, describe("x"), vector)
    with pytest.raises(InvalidRequest):
        facts.search(facts.understand("dentist", today=TODAY), 5, vector=vector)
    assert len(facts) == len(FACTS)


def test_a_damaged_card_or_vector_is_left_out_and_named() -> None:
    index = Index(model_id="m", dim=4)
    card = describe("The spare key hangs behind the boiler")
    vector = pack(np.array([1, 0, 0, 0], dtype=np.float32))
    good = card.to_bytes("m", vector)
    blobs = [
        good,
        b"xyz",
        good[:-2],
        good[:-4],
        card.to_bytes("m", b"four"),
        card.to_bytes("n", vector),
        card.to_bytes("mm", vector),
        good + bytes(4),
    ]
    assert index.load(enumerate(blobs)) == [1, 2, 3, 7]
    assert index._state.rows.column("has_vector").tolist() == [True, False, False, False]
    assert without_vector(enumerate(blobs), "m", 4) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("seq", [-1, 2**40])
def test_a_place_out_of_range_is_refused(seq: int) -> None:
    with pytest.raises(InvalidRequest):
        Index().add(seq, describe("x"))


words = st.sampled_from(["tea", "boat", "Brno", "red", "Eva:", "Jan:", "yesterday", "12", "not", "the"])
notes = st.lists(st.lists(words, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=8)


@given(notes, notes, st.lists(words, min_size=1, max_size=4).map(" ".join), st.randoms())
def test_what_may_not_be_seen_changes_nothing_about_the_answer(
    seen: list[str], unseen: list[str], question: str, chance: object
) -> None:
    rows = [(seq, text) for seq, text in enumerate(seen)]
    hidden = [(1_000 * chance.randrange(3) + 500 + seq, text) for seq, text in enumerate(unseen)]  # type: ignore[attr-defined]
    alone, mixed = Index(), Index()
    allow = np.array([1_000 * seq for seq, _ in rows])
    for seq, text in rows:
        alone.add(1_000 * seq, describe(text, thread="s"))
        mixed.add(1_000 * seq, describe(text, thread="s"))
    for seq, text in hidden:
        mixed.add(seq, describe(text, thread="s"))
    expected = alone.search(alone.understand(question, today=TODAY, allow=allow), 5, allow=allow, explain=True)
    assert mixed.search(mixed.understand(question, today=TODAY, allow=allow), 5, allow=allow, explain=True) == expected


def vector(text: list[str]) -> NDArray[np.float32] | None:
    """Something like a vector for most texts, none for some."""
    counts = [sum(word.count(letter) for word in text) for letter in "aetr"]
    return np.array(counts, dtype=np.float32) / np.float32(10) if any(counts) else None


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.lists(words, min_size=1, max_size=4)), max_size=25))
def test_following_writes_gives_what_loading_afresh_gives(steps: list[tuple[bool, int, list[str]]]) -> None:
    followed, contents = Index(model_id="m", dim=4), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_CLEAR_AT_LEAST", 2)
        for adds, seq, text in steps:
            if adds:
                contents[seq] = describe(" ".join(text), thread="s"), vector(text)
                followed.add(seq, *contents[seq])
            else:
                contents.pop(seq, None)
                followed.remove([seq])
    fresh = Index(model_id="m", dim=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "_FEW", 0)
        packed = [(seq, card, b"" if given is None else pack(given)) for seq, (card, given) in contents.items()]
        assert fresh.load([(seq, card.to_bytes("m", blob)) for seq, card, blob in packed]) == []
    query = fresh.understand("Did Eva drink red tea in Brno?", today=TODAY)
    assert query == followed.understand("Did Eva drink red tea in Brno?", today=TODAY)
    asked = np.array([1, 2, 3, 4], dtype=np.float32)
    assert followed.search(query, 10, floor=0) == fresh.search(query, 10, floor=False)
    assert followed.search(query, 10, vector=asked, floor=0) == fresh.search(query, 10, vector=asked, floor=False)


@pytest.mark.slow
def test_readers_see_whole_states_while_a_writer_writes() -> None:
    index = built(FACTS)
    query = index.understand("Who is my dentist?", today=TODAY)
    vector = embed.default().embed([query.meaning], "query")[0]
    faults: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                assert index.search(query, 3, vector=vector)[0].seq == 1
        except BaseException as fault:
            faults.append(fault)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for seq in range(100, 700):
        index.add(seq, describe(f"The {seq}th entry about boats and harbours"), -vector)
        if seq % 3 == 0:
            index.remove([seq])
    done.set()
    for reader in readers:
        reader.join()
    assert faults == []
