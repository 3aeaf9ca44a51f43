"""Mark what a hearsay text says, so that an echo of it is recognised whoever repeats it, in whatever spelling."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from truekeep.text.analysis import analysed
from truekeep.text.clause import Clause, clauses
from truekeep.text.decode import decoded_runs
from truekeep.text.dictated import numbers_apart
from truekeep.text.fold import loose
from truekeep.text.language import lexeme
from truekeep.text.salient import ValueScan, digit_runs, read_values
from truekeep.text.tokens import Kind, Salient, host_of

# Values too common to recognise a source by; the claim as a whole stands in for them.
_COMMON_KINDS = frozenset({Kind.NEGATION, Kind.BOOLEAN, Kind.CURRENCY, Kind.TIME})
_WITH_LETTERS = frozenset({Kind.CODE, Kind.IBAN, Kind.WALLET})
_SMALL_NUMBER = 3
"""Numbers of fewer digits are everybody's."""
_TELLING_DIGITS = 6
"""So many digits in a code are telling without its letters."""
_LONGEST_KEPT = 8_000
"""Characters of a text whose marks are remembered: memories are no longer, a page's marks many times its size."""


def hearsay_marks(text: str | ValueScan) -> tuple[str, ...]:
    """What to remember of a hearsay text, so that an enrolled echo of it is recognised later.

    Loose spellings of its telling values in every reading, and its words as a whole. The caller hashes them with
    a key; an enrolled statement one of whose marks was first met as hearsay does not corroborate.
    """
    if not isinstance(text, str):
        return _marks_in(text)
    return _marks_of(text) if len(text) <= _LONGEST_KEPT else _marks_in(analysed(text).scan)


@lru_cache(maxsize=1_024)
def _marks_of(text: str) -> tuple[str, ...]:
    """Every look at an enrolled statement asks for them again."""
    return _marks_in(analysed(text).scan)


def _marks_in(scanned: ValueScan) -> tuple[str, ...]:
    parts = clauses(scanned)
    owners = {word for clause in parts if clause.is_attribute for word in clause.subject}
    found = {loose(digits) for digits in (*digit_runs(scanned.view.text), *_written_apart(scanned))}
    for value in scanned.values:
        if _tells_a_source(value, owners):
            found.update(loose(reading) for reading in _readings(value))
    marks = [f"value:{value}" for value in sorted(found - {""})]
    return (*marks, f"words:{bag}") if (bag := _bag(parts)) else tuple(marks)


def _written_apart(scanned: ValueScan) -> Iterator[str]:
    """Numbers that stand in pieces, in words or encoded, and the digits of codes that have letters in them as well."""
    dates = {_digits_of(scanned.view.text[slice(*value.span)]) for value in scanned.values if value.kind is Kind.DATE}
    # The day and the year of a date are no number: every month has a 17th.
    yield from (number for number in numbers_apart(scanned) if number not in dates)
    for hidden in decoded_runs(scanned.view.text):
        yield hidden
        yield from (value.value for value in read_values(hidden).values if value.sure)
    for value in scanned.values:
        digits = _digits_of(value.value)
        if value.kind in _WITH_LETTERS and len(digits) >= _TELLING_DIGITS:
            yield digits


def _digits_of(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def _bag(parts: tuple[Clause, ...]) -> str:
    """All content words without regard to order, case and inflection, and whether the whole denies."""
    words = {lexeme(word) for clause in parts for word in clause.words}
    values = {value.key for clause in parts for value in clause.values}
    denies = str(sum(clause.negations for clause in parts) % 2)
    return " ".join((*sorted(words | values), denies)) if words or values else ""


def _readings(value: Salient) -> tuple[str, ...]:
    """Every form in which the value could come back: without its currency, as a host without its path."""
    forms = (value.value, *value.also)
    if value.kind is Kind.MONEY:
        return (*forms, *(form.partition(" ")[0] for form in forms))
    return (*forms, host_of(value.value)) if value.kind is Kind.URL else forms


def _tells_a_source(value: Salient, owners: set[str]) -> bool:
    if value.kind in _COMMON_KINDS or not value.sure:
        return False
    if value.kind is Kind.NAME:
        # Whom a claim is about is not what it plants; otherwise naming a firm once would silence all about it.
        return not set(value.value.split()) <= owners
    digits = sum(char.isdigit() for char in value.value)
    return digits >= _SMALL_NUMBER or value.kind not in (Kind.NUMBER, Kind.PERCENT, Kind.DATE)
