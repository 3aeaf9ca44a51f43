"""How a question is understood."""

from __future__ import annotations

import time
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.yardstick import allowed
from truekeep.search.card import describe
from truekeep.search.dates import nearness, periods
from truekeep.search.query import MAX_TERMS, understand
from truekeep.search.terms import term, terms
from truekeep.text.analysis import analysed, release

TODAY = date(2026, 3, 18)
EVA, JAN = term("eva"), term("jan")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("What happened last May?", date(2025, 5, 20), date(2024, 5, 20)),
        ("What happened last January?", date(2026, 1, 5), date(2025, 1, 5)),
        ("What did we buy in July 2023?", date(2023, 7, 31), date(2024, 7, 1)),
        ("Whom did she meet on 7 July?", date(2021, 7, 7), date(2021, 4, 7)),
        ("Whom did she meet on July 7th, 2021?", date(2021, 7, 7), date(2022, 7, 7)),
        ("What was planned for 2026-02-01?", date(2026, 2, 1), date(2026, 1, 1)),
        ("Where were you yesterday?", date(2026, 3, 17), date(2026, 1, 17)),
        ("What did I say two weeks ago?", date(2026, 3, 4), date(2025, 12, 4)),
        ("What did I do last week?", date(2026, 3, 12), date(2025, 12, 12)),
        ("What did I do last month?", date(2026, 2, 14), date(2025, 10, 14)),
        ("What did I do last year?", date(2025, 8, 1), date(2024, 8, 1)),
        ("What did I do last Monday?", date(2026, 3, 16), date(2025, 11, 3)),
        ("Where did we go in the summer of 2024?", date(2024, 7, 1), date(2023, 7, 1)),
        ("Where did we go last winter?", date(2026, 1, 15), date(2024, 7, 1)),
        ("What was on 31 February 2024?", date(2024, 2, 10), date(2024, 6, 1)),
        ("What changed in 2022?", date(2022, 6, 6), date(2023, 9, 6)),
    ],
)
def test_a_date_phrase_means_its_days(text: str, inside: date, outside: date) -> None:
    days = np.array([inside.toordinal(), outside.toordinal(), 0], dtype=np.int32)
    near, far, undated = nearness(periods(analysed(text), TODAY), days)
    assert near == pytest.approx(1)
    assert far < 0.1
    assert undated == 0


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("Was haben wir letzten Mai gemacht?", date(2025, 5, 20), date(2024, 5, 20)),
        ("Was habe ich am 7. Juli 2021 gekauft?", date(2021, 7, 7), date(2022, 7, 7)),
        ("Was habe ich vor zwei Wochen gesagt?", date(2026, 3, 4), date(2025, 12, 4)),
        ("Wo waren wir letzten Sommer?", date(2025, 7, 10), date(2024, 7, 10)),
        ("Wo warst du gestern?", date(2026, 3, 17), date(2026, 1, 17)),
        ("Que s'est-il passé en juillet 2023 ?", date(2023, 7, 31), date(2024, 7, 1)),
        ("¿Qué hice el mes pasado con mi hermana?", date(2026, 2, 14), date(2025, 10, 14)),
        ("Čo som kúpil 14. mája 2025?", date(2025, 5, 14), date(2025, 9, 14)),
        ("Čo som robil včera a čo je nové?", date(2026, 3, 17), date(2026, 1, 17)),
        ("Wat heb ik vorige week gedaan?", date(2026, 3, 12), date(2025, 12, 12)),
    ],
)
def test_a_date_phrase_means_its_days_in_other_languages(text: str, inside: date, outside: date) -> None:
    days = np.array([inside.toordinal(), outside.toordinal()], dtype=np.int32)
    near, far = nearness(periods(analysed(text), TODAY), days)
    assert near == pytest.approx(1)
    assert far < 0.1


@pytest.mark.parametrize("text", ["may I march on?", "How are you?", "room 2023", "a year"])
def test_no_date_phrase_means_no_days(text: str) -> None:
    assert nearness(periods(analysed(text), TODAY), np.array([TODAY.toordinal()], dtype=np.int32))[0] == 0


def test_nearness_fades_after_the_day_and_quicker_before_it() -> None:
    day = date(2024, 7, 7).toordinal()
    before, on, after = nearness(
        periods(analysed("on 7 July 2024"), TODAY), np.array([day - 7, day, day + 7], dtype=np.int32)
    )
    assert on > after > before > 0


@given(st.text(max_size=300))
def test_any_text_can_be_read_for_dates(text: str) -> None:
    days = np.array([1, TODAY.toordinal(), date.max.toordinal()], dtype=np.int32)
    near = nearness(periods(analysed(text), TODAY), days)
    assert ((near >= 0) & (near <= 1)).all()


@pytest.mark.parametrize(
    ("text", "asks_when", "asks_how_many"),
    [
        ("When do we fly?", True, False),
        ("How often do I train?", False, True),
        ("How do I train?", False, False),
        ("Wann fliegen wir nach Rom?", True, False),
        ("Wie viele Kinder hat meine Schwester?", False, True),
        ("Wie heißt meine Schwester?", False, False),
        ("Kedy máme let do Ríma?", True, False),
        ("Koľko stojí môj nájom?", False, True),
        ("Combien coûte mon loyer ?", False, True),
        ("¿Cuándo es la boda de mi hermana?", True, False),
    ],
)
def test_what_kind_of_answer_is_wanted_is_seen_in_every_language(
    text: str, asks_when: bool, asks_how_many: bool
) -> None:
    query = understand(text, today=TODAY)
    assert (query.asks_when, query.asks_how_many) == (asks_when, asks_how_many)


def test_a_known_speaker_is_taken_out_of_the_question() -> None:
    query = understand("When did Eva's sister call Eva?", known={EVA}, today=TODAY)
    assert query.names == (EVA,)
    assert query.meaning == "When did sister call ?"
    assert set(query.terms) == set(terms("sister call"))
    assert query.asks_when


def test_an_unknown_name_is_a_word_like_any_other() -> None:
    query = understand("Who is Eva?", known=set(), today=TODAY)
    assert query.names == ()
    assert query.terms == (EVA,)


def test_a_name_in_small_letters_counts_only_in_a_question_all_in_small_letters() -> None:
    will = term("will")
    assert understand("What will Jan eat?", known={will, JAN}, today=TODAY).names == (JAN,)
    assert understand("where does jan live", known={JAN}, today=TODAY).names == (JAN,)


def test_a_question_of_nothing_but_a_name_asks_for_that_name() -> None:
    query = understand("Eva?", known={EVA}, today=TODAY)
    assert query.terms == (EVA,)
    assert query.meaning == "Eva?"


def test_a_question_of_ten_thousand_words_is_cut() -> None:
    query = understand(" ".join(f"word{number}" for number in range(10_000)), today=TODAY)
    assert len(query.terms) == MAX_TERMS


@pytest.mark.parametrize("text", ["", "   ", "the of", "\x00", "\ud800", "?!*-\"'"])
def test_a_question_without_words_has_no_terms(text: str) -> None:
    assert understand(text, today=TODAY).terms == ()


def test_negation_is_not_searched_for() -> None:
    assert understand("What can I not eat?", today=TODAY).terms == tuple(terms("eat"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", ["\u337f", "\ufdfa", "a\u0301", "last May ", "14. mája ", "vor zwei Wochen ", "東京", "don't "]
)
def test_a_hostile_text_is_described_and_understood_in_proportion_to_its_length(seed: str) -> None:
    def cost(length: int) -> float:
        text = (seed * length)[:length]
        release()
        began = time.process_time()
        describe(text)
        understand(text, today=TODAY)
        return time.process_time() - began

    cost(100)
    assert min(cost(8_000) for _ in range(3)) < max(40 * min(cost(800) for _ in range(3)), allowed(0.3))
