"""Every spelling of a value comes out the same, and different values stay different."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.yardstick import allowed
from truekeep.text.analysis import analysed
from truekeep.text.fold import loose
from truekeep.text.salient import read_values
from truekeep.text.tokens import Kind

CASES = yaml.safe_load((Path(__file__).parent / "values.yaml").read_text("utf-8"))


def keys(text: str) -> list[str]:
    return [value.key for value in analysed(text).values if value.kind is not Kind.NAME or value.sure]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[case[0][:40] for case in CASES])
def test_values_are_typed_and_canonical(text: str, expected: list[str]) -> None:
    found = [key for key in keys(text) if not key.startswith("name:") or key in expected]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("eva@example.org", "еva@example.org"),
        ("https://northwind.example", "https://northw1nd.example"),
        ("account 1-12", "account 11-2"),
        ("account 1180-22", "account 1180-23"),
        ("5 euros", "5 dollars"),
        ("3.5", "35"),
        ("14 March", "14 March 2025"),
        ("GB82WEST12345698765432", "GB82WEST12345698765433"),
        ("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "1bvbmseystwetqtfn5au4m4gfg7xjanvn2"),
    ],
)
def test_different_values_stay_different(a: str, b: str) -> None:
    assert keys(a) != keys(b)


def test_a_loose_spelling_sees_through_disguises() -> None:
    assert loose("northwind.example") == loose("n0rthw1nd.example") == loose("northwіnd.example")
    assert loose("GB82 WEST 1234") == loose("gb82west1234")


def test_an_ambiguous_number_keeps_its_other_reading_for_recognition_only() -> None:
    (value,) = analysed("1.500").values
    assert (value.value, value.also) == ("1.5", ("1500",))
    (value,) = analysed("1,500").values
    assert (value.value, value.also) == ("1500", ("1.5",))


def test_a_capital_that_only_begins_a_sentence_is_marked_as_a_guess() -> None:
    assert [(v.value, v.sure) for v in analysed("Drinks tea with Eva").values] == [("drinks", False), ("eva", True)]


def test_spans_point_at_the_raw_text() -> None:
    text = "Pay \u200b３００ euros — to “Eva”"
    money = next(value for value in analysed(text).values if value.kind is Kind.MONEY)
    assert text[slice(*money.span)] == "３００ euros"


def test_words_between_letters_hide_no_value() -> None:
    assert keys("acc\u00adount 11\u200b80-22") == ["code:118022"]


amounts = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("99999999"), places=2)


@given(amounts)
def test_all_thousands_separators_mean_the_same_amount(amount: Decimal) -> None:
    english = f"{amount:,.2f}"
    spellings = [
        english,
        english.replace(",", " "),
        english.replace(",", "'"),
        english.replace(",", "_").replace(".", ",").replace("_", "."),
        f"{amount:.2f}",
    ]
    assert len({tuple(keys(f"{spelling} EUR")) for spelling in spellings}) == 1
    assert keys(f"€{english}") == keys(f"{english} euros") == keys(f"EUR {english}")


@given(st.dates())
def test_all_spellings_of_a_day_mean_the_same_day(day: object) -> None:
    from datetime import date

    assert isinstance(day, date)
    if day.year < 1000:
        return
    spellings = [
        day.isoformat(),
        f"{day.day}.{day.month}.{day.year}",
        f"{day.day} {day.strftime('%B')} {day.year}",
        f"{day.strftime('%B')} {day.day}, {day.year}",
    ]
    assert {tuple(keys(f"due {spelling}")) for spelling in spellings} == {(f"date:{day.isoformat()}",)}


@given(st.text(max_size=300))
def test_any_text_is_read_without_error_and_spans_stay_inside(text: str) -> None:
    for value in analysed(text).values:
        assert 0 <= value.span[0] <= value.span[1] <= len(text)
        assert value.value


@given(st.text(alphabet="aA1 .-/@:,'\"€dot0x\n", max_size=200))
def test_structured_noise_is_read_without_error(text: str) -> None:
    assert all(value.key for value in analysed(text).values)


HOSTILE = [
    "a", "1", "a.", "1,", "1 ", "a-", "1-", "/a", "@a", "a@", "GB82 ", "+1 ", "\"", "http://", "1:", "0x", "a1", "é",
    "\u0301", "one ", "at dot ", "[at]", "A ", "A's ", "de A ", "1/", "a/", "1. ", "bc1", "twenty-", "zwei", "a_",
    "14 March ",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_reading_takes_linear_time(piece: str) -> None:
    def cost(size: int) -> float:
        best = 9.0
        for attempt in range(3):
            text = str(attempt) + (piece * size)[:size]
            start = time.process_time()
            _ = read_values(text).values
            best = min(best, time.process_time() - start)
        return best

    _ = read_values(piece * 10).values
    assert cost(8_000) < max(8 * 2.5 * cost(1_000), allowed(0.08))
