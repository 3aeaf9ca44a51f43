"""The tables about money, units and the like, read once from data files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from truekeep.text.language import read_table
from truekeep.text.lexemes import lexemes


@dataclass(frozen=True, slots=True)
class Units:
    """The tables about money, units and the like."""

    symbols: dict[str, str]
    currencies: dict[str, str]
    scales: dict[str, int]
    units: frozenset[str]
    file_endings: frozenset[str]
    year_cues: frozenset[str]
    percent: frozenset[str]
    booleans: dict[str, str]
    not_names: frozenset[str]


@cache
def units() -> Units:
    """The tables, read once."""
    money: dict[str, Any] = read_table("salient", "money.toml")
    table = read_table("salient", "units.toml")
    currencies = {word: code for code, words in money["words"].items() for word in words}
    return Units(
        symbols=money["symbols"],
        currencies=currencies,
        scales=money["scales"],
        units=frozenset(table["units"]),
        file_endings=frozenset(table["file_endings"]),
        year_cues=frozenset(table["year_cues"]),
        percent=frozenset(table["percent"]),
        booleans=dict.fromkeys(table["true_words"], "true") | dict.fromkeys(table["false_words"], "false"),
        not_names=frozenset({*currencies, *lexemes().words}),
    )
