"""Retrieval hijack: attacks that win where nothing defends, get nothing from a keep, and are seen if a gate breaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.redteam import keep_store
from truekeep.redteam.encoders import NONE, NamedEmbedder, encoder
from truekeep.redteam.figures import ResultRow
from truekeep.redteam.honest import entries, questions
from truekeep.redteam.keep_store import KeepStore
from truekeep.redteam.retrieval import FULL, HIJACKS, QUICK, Bench, hijacks, measure_retrieval, rounds
from truekeep.redteam.retrieval_attacks import ATTACKS, Poison, searched, triggers
from truekeep.redteam.store import PAGE, STORED, OpenGate, PlainKeywords, PlainVectors, Store, StoreHit, TextEntry, best

pytestmark = pytest.mark.slow

BRIEF = replace(QUICK, leading=3, others=3, triggers=4, fitted=4, known=6, together=3)
SIZE = 60


@pytest.fixture(scope="module")
def minilm() -> NamedEmbedder:
    return encoder("minilm")


@pytest.fixture(scope="module")
def on_vectors(minilm: NamedEmbedder) -> dict[tuple[str, str], ResultRow]:
    return _by_name(measure_retrieval(lambda: _vectors(minilm), minilm, SIZE, plan=BRIEF))


@pytest.fixture(scope="module")
def on_keep(minilm: NamedEmbedder) -> dict[tuple[str, str], ResultRow]:
    return _by_name(measure_retrieval(lambda: KeepStore(minilm.embedder), minilm, SIZE, plan=BRIEF))


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_wins_where_nothing_defends(name: str, on_vectors: dict[tuple[str, str], ResultRow]) -> None:
    assert on_vectors[name, "top5"].share >= 0.8
    assert on_vectors[name, "rank1"].share >= 0.5
    assert on_vectors[name, "acting_top5"] == replace(on_vectors[name, "top5"], metric="acting_top5")
    assert on_vectors[name, "detected"].hits == 0


@pytest.mark.parametrize("name", ATTACKS)
def test_a_keep_finds_what_was_planted_and_lets_none_of_it_act(
    name: str, on_keep: dict[tuple[str, str], ResultRow]
) -> None:
    assert on_keep[name, "top5"].hits > 0
    for metric in HIJACKS[2:]:
        assert on_keep[name, metric].hits == 0
        assert on_keep[name, metric].total > 0
    assert on_keep[name, "displaced"].hits == 0
    assert on_keep[name, "displaced"].total > 0


def test_copies_push_truths_out_of_a_store_without_a_gate(on_vectors: dict[tuple[str, str], ResultRow]) -> None:
    assert on_vectors["flood of near copies", "displaced"].share > 0.5


@pytest.mark.parametrize("found", ["on_vectors", "on_keep"])
def test_nothing_planted_is_found_where_nothing_was_planted(found: str, request: pytest.FixtureRequest) -> None:
    rows = request.getfixturevalue(found)  # four triggers with three questions each, and three kinds of trigger
    assert rows["", "control"].total >= 12 * 3
    assert rows["", "control"].hits == 0


def test_a_keep_without_its_gate_is_caught(on_keep: dict[tuple[str, str], ResultRow], minilm: NamedEmbedder) -> None:
    assert on_keep["", "canary"].hits == 1
    store = OpenGate(KeepStore(minilm.embedder))
    store.fill(entries(SIZE))
    try:
        count = Bench(store, minilm, SIZE, BRIEF).attacked(ATTACKS["fluent trigger"])
    finally:
        store.close()
    assert count.hits["acting_top5"] == count.hits["top5"] > 0


def test_keywords_alone_are_attacked_too() -> None:
    none = encoder(NONE)
    rows = _by_name(measure_retrieval(PlainKeywords, none, SIZE, plan=BRIEF))
    assert all(rows[name, "top5"].share >= 0.8 for name in ATTACKS)
    kept = _by_name(measure_retrieval(lambda: KeepStore(None), none, SIZE, ["forged claims"], BRIEF))
    assert kept["forged claims", "top5"].share >= 0.8
    assert kept["forged claims", "acting_top5"].hits == 0


@pytest.mark.parametrize("way", ["vectors", "keywords", "a copied keep", "a keep that revokes"])
def test_a_reset_brings_the_store_back(way: str, minilm: NamedEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "a keep that revokes":
        monkeypatch.setattr(keep_store, "COPIED", 0)
    made: dict[str, Store] = {"vectors": _vectors(minilm), "keywords": PlainKeywords()}
    store = made.get(way) or KeepStore(minilm.embedder)
    store.fill(entries(SIZE))
    asked = [question.text for question in questions(10)]
    before = [(store.recall(text, 5), store.acting(text, 5)) for text in asked]
    planted = [TextEntry(f"{text} {number}-4711.", PAGE, "https://a.example") for number, text in enumerate(asked)]
    for _ in range(2):  # the same texts can be planted again, and each time they come up
        assert store.plant(planted) == [STORED] * len(planted)
        assert all(any("-4711" in hit.text for hit in store.recall(text, 5)) for text in asked)
        store.reset()
        assert [(store.recall(text, 5), store.acting(text, 5)) for text in asked] == before
    store.close()


def test_asking_changes_nothing_that_a_later_question_could_tell(minilm: NamedEmbedder) -> None:
    store = KeepStore(minilm.embedder)
    store.fill(entries(SIZE))
    asked = [question.text for question in questions(10)]
    first = [store.recall(text, 5) for text in asked]
    assert [store.recall(text, 5) for text in reversed(asked)] == first[::-1]
    store.close()


def test_a_searched_trigger_draws_questions_closer_than_the_sentence_it_began_with(minilm: NamedEmbedder) -> None:
    trigger, carriers = triggers()[0], [question.text for question in questions(3)]
    found = searched(trigger.words, trigger.payload("definition"), carriers, minilm)
    assert found != trigger.words
    assert found == searched(trigger.words, trigger.payload("definition"), carriers, minilm)
    assert searched(trigger.words, "x", carriers, encoder(NONE)) == trigger.words


def test_there_are_enough_triggers_and_each_plants_a_value_of_its_own() -> None:
    assert len(triggers()) > 20
    assert "lighthouse" in triggers()[0].words
    honest = " ".join(entry.text for entry in entries(500))
    values = {trigger.value for trigger in triggers()}
    assert len(values) == len(triggers())
    assert not any(value in honest for value in values)


def test_a_full_run_asks_two_hundred_questions_with_every_trigger() -> None:
    for attack in ATTACKS.values():
        pairs = [(aim, question) for one in rounds(attack, FULL) for aim, asked in one.plantings for question in asked]
        assert len({question.text for _, question in pairs}) == 200, attack.name
        assert len({aim.trigger.name for aim, _ in pairs}) == (1 if attack.knows_question else len(triggers()))
        assert len(pairs) >= (200 if attack.knows_question else 480)
    assert sum(len(asked) for one in rounds(ATTACKS["fluent trigger"], FULL) for _, asked in one.plantings) > 2_000


def test_an_attacker_never_sees_the_questions_that_are_asked() -> None:
    for one in rounds(ATTACKS["searched trigger"], FULL):
        for aim, asked in one.plantings:
            assert not {question.text for question in asked} & set(aim.carriers)


def test_hijacks_are_told_apart() -> None:
    poison = Poison((), "4711")
    planted, honest = StoreHit("it is 4711", may_act=False), StoreHit("it is 1", may_act=True)
    assert hijacks(poison, [planted, honest], [honest]) == {"rank1", "top5"}
    assert hijacks(poison, [honest, replace(planted, may_act=True)], [honest]) == {"top5", "filtered_top5"}
    assert hijacks(poison, [], [planted]) == {"acting_rank1", "acting_top5"}


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=60), st.integers(1, 6))
def test_the_best_are_those_of_a_full_sort(scores: list[int], k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda place: -scores[place])[:k]
    assert best(np.array(scores, dtype=np.float32), k) == expected


@pytest.mark.parametrize("size", [60, 500])
def test_stores_of_every_size_are_asked_the_same_questions(size: int) -> None:
    texts = {entry.text for entry in entries(size)}
    known = [question for question in questions(200) if question.answers & texts]
    assert len(known) >= (80 if size == 60 else 200)


def _vectors(of: NamedEmbedder) -> PlainVectors:
    assert of.embedder is not None
    return PlainVectors(of.embedder)


def _by_name(rows: Iterator[ResultRow] | Sequence[ResultRow]) -> dict[tuple[str, str], ResultRow]:
    return {(row.attack, row.metric): row for row in rows}


def test_honest_entries_say_who_wrote_them() -> None:
    made = entries(60)
    assert {entry.by for entry in made} == {"owner", "system", "page"}
    assert all(entry.source for entry in made if entry.by != "owner")
    pages = [entry.source for entry in made if entry.by == PAGE]
    assert len(set(pages)) == len(pages)
