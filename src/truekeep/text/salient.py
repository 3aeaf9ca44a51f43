"""Read the typed values off a row of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache

from truekeep.text.language import Language, language, language_of
from truekeep.text.salient import codes, dates, numbers
from truekeep.text.salient.cursor import Cursor
from truekeep.text.salient.model import Kind, Salient
from truekeep.text.salient.names import names
from truekeep.text.salient.plain import plain
from truekeep.text.salient.read_dates import figures_date, month, month_then_day, relative
from truekeep.text.salient.read_quantities import names_an_identifier, number, number_words
from truekeep.text.salient.tables import units
from truekeep.text.salient.tokens import Token, tokens
from truekeep.text.view import View

_HYPHENED = re.compile(r"(\d+)-([a-z]{3,})")
_YEAR_MONTH = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])")
_QUOTED = re.compile(r'"([^"\n]{1,400})"')


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A text's tokens and values; spans are in ``view``, which knows the way back to the raw text."""

    view: View
    language: Language
    tokens: list[Token]
    lower: list[str]
    values: list[Salient]


@lru_cache(maxsize=16)
def scan(text: str) -> Scan:
    """Tokens, language and values of a text; the last few are kept, because a write asks several times."""
    view = plain(text)
    found = tokens(view.text)
    lower = [token.text.casefold() for token in found]
    words = [low for token, low in zip(found, lower, strict=True) if token.kind == "word"]
    at = Cursor(view.text, found, lower, language_of(words))
    return Scan(view, at.language, found, lower, _read(at))


def _read(at: Cursor) -> list[Salient]:
    place = 0
    while place < len(at.tokens):
        token = at.tokens[place]
        if token.kind == "word":
            place = _word(at, place)
        elif token.kind == "number":
            place = number(at, place)
        elif token.kind == "mark":
            place += 1
        else:
            _single(at, token, place)
            place += 1
    taken = {place for value in at.values for place in range(*value.span)}
    at.values += names(at.tokens, at.lower, at.language, taken, at.units.not_names)
    if '"' in at.text:
        at.values += [_quoted(match) for match in _QUOTED.finditer(at.text)]
    return sorted(at.values, key=lambda value: value.span)


def _single(at: Cursor, token: Token, place: int) -> None:
    """Tokens that are a value by themselves."""
    if token.kind in _SIMPLE:
        kind, spell = _SIMPLE[token.kind]
        end = token.start + len(codes.trimmed(token.text)) if kind is Kind.URL else token.end
        at.add(kind, spell(token.text), token.start, end)
    elif token.kind == "domain":
        _domain(at, token)
    elif token.kind in ("iso", "dmy"):
        figures_date(at, token)
    elif token.kind == "time":
        if clock := dates.time_of_day(token.text):
            at.add(Kind.TIME, clock, token.start, token.end)
    elif token.kind == "code":
        _code(at, token, place)


def _domain(at: Cursor, token: Token) -> None:
    ending = token.text.rpartition(".")[2]
    if ending.casefold() in at.units.file_endings:
        at.add(Kind.PATH, codes.path(token.text), token.start, token.end)
    elif len(ending) > 1 and ending.isalpha() and not (ending[0].isupper() and ending[1:].islower()):
        at.add(Kind.DOMAIN, token.text.casefold(), token.start, token.end)


def _code(at: Cursor, token: Token, place: int) -> None:
    if match := _HYPHENED.fullmatch(token.text):
        value = numbers.canonical(Decimal(match[1]))
        at.add(Kind.NUMBER, value, token.start, token.end, unit=match[2])
    elif _YEAR_MONTH.fullmatch(token.text) and not names_an_identifier(at, place):
        at.add(Kind.DATE, token.text, token.start, token.end)
    elif token.text.isdigit() and not names_an_identifier(at, place):
        number(at, place)
    else:
        at.add(Kind.CODE, codes.compact(token.text), token.start, token.end)


def _word(at: Cursor, place: int) -> int:
    """Dates, number words, currencies, booleans and negations that begin with a word."""
    low = at.lower[place]
    if not _may_begin_value(low, at.language):
        return place + 1
    if (found := month(at, place)) and (after := month_then_day(at, place, found)):
        return after
    if after := relative(at, place, low):
        return after
    if after := number_words(at, place):
        return after
    token = at.tokens[place]
    if at.language.roles.get(low) == "negations" or low.endswith("n't"):
        at.add(Kind.NEGATION, "not", token.start, token.end)
    elif low in at.units.booleans and at.language.roles.get(low) is None:
        at.add(Kind.BOOLEAN, at.units.booleans[low], token.start, token.end)
    elif low in at.units.currencies and _stands_before_no_number(at, place):
        at.add(Kind.CURRENCY, at.units.currencies[low], token.start, token.end)
    return place + 1


def _may_begin_value(low: str, tables: Language) -> bool:
    """Most words begin no value; one look-up tells."""
    return low in _value_words(tables.name) or tables.glued or "-" in low or "'" in low


@cache
def _value_words(name: str) -> frozenset[str]:
    known, tables = language(name), units()
    negations = (word for word, role in known.roles.items() if role == "negations")
    return frozenset(
        {*known.months, *known.weekdays, *known.days, *known.numbers, *negations}
        | {*known.ahead, *known.long_spans}
        | {*tables.currencies, *tables.booleans}
    )


def _stands_before_no_number(at: Cursor, place: int) -> bool:
    return place + 1 >= len(at.tokens) or at.tokens[place + 1].kind != "number"


def _quoted(match: re.Match[str]) -> Salient:
    return Salient(Kind.QUOTED, " ".join(match[1].casefold().split()), match.span())


_SIMPLE: dict[str, tuple[Kind, Callable[[str], str]]] = {
    "url": (Kind.URL, codes.url),
    "email": (Kind.EMAIL, codes.email),
    "spoken_email": (Kind.EMAIL, codes.email),
    "iban": (Kind.IBAN, codes.compact),
    "wallet": (Kind.WALLET, codes.wallet),
    "phone": (Kind.PHONE, codes.phone),
    "card": (Kind.CODE, codes.compact),
    "dotted": (Kind.CODE, str.casefold),
    "path": (Kind.PATH, codes.path),
    "handle": (Kind.NAME, str.casefold),
}
