"""Salient values: the numbers, amounts, dates, names and addresses that a claim or a call turns on."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property

from truekeep.text.dates import day_then_month, figures_date, month, month_then_day, relative, time_of_day
from truekeep.text.fold import plain
from truekeep.text.language import Language, language, language_of, lexemes, units
from truekeep.text.quantities import Cursor, canonical, names_an_identifier, number, number_words, split_number
from truekeep.text.tokens import (
    Kind,
    Salient,
    ValueToken,
    compact,
    email,
    path,
    phone,
    tokens,
    trimmed,
    url,
    wallet,
)

_HYPHENED = re.compile(r"(\d+)-([a-z]{3,})")
_YEAR_MONTH = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])")
_QUOTED = re.compile(r'"([^"\n]{1,400})"')


_TARGETS = frozenset({Kind.EMAIL, Kind.IBAN, Kind.CODE, Kind.WALLET, Kind.URL, Kind.DOMAIN, Kind.PATH, Kind.PHONE})


class ValueScan:
    """A text's tokens and values; spans are in ``view``, which knows the way back to the raw text."""

    def __init__(self, text: str) -> None:
        self.view = plain(text)
        self.tokens = tokens(self.view.text)
        self.lower = [token.text.casefold() for token in self.tokens]
        words = [low for token, low in zip(self.tokens, self.lower, strict=True) if token.kind == "word"]
        self.language = language_of(words)

    @cached_property
    def values(self) -> list[Salient]:
        """The values, read when they are first asked for: most questions are asked for their language alone."""
        return _read(Cursor(self.view.text, self.tokens, self.lower, self.language, units()))


def read_values(text: str) -> ValueScan:
    """Tokens, language and values of a text."""
    return ValueScan(text)


def names_a_target(text: str) -> bool:
    """Whether it names what an act can go to, which nobody gets by the way. Sums and dates are how people talk."""
    return any(value.kind in _TARGETS for value in read_values(text).values)


def _read(at: Cursor) -> list[Salient]:
    place = 0
    while place < len(at.tokens):
        token = at.tokens[place]
        if token.kind == "word":
            place = _word(at, place)
        elif token.kind == "number":
            place = _number(at, place)
        elif token.kind == "mark":
            place += 1
        else:
            _single(at, token, place)
            place += 1
    taken = {place for value in at.values for place in range(*value.span)}
    at.values += names(at.tokens, at.lower, at.language, taken, _not_names())
    if '"' in at.text:
        at.values += [_quoted(match) for match in _QUOTED.finditer(at.text)]
    return sorted(at.values, key=lambda value: value.span)


def _number(at: Cursor, place: int) -> int:
    """A date that begins with its day, or a quantity; gives the token after it."""
    parts = split_number(at.tokens[place].text)
    if parts is None:
        return place + 1
    return day_then_month(at, place, *parts) or number(at, place, *parts)


def _single(at: Cursor, token: ValueToken, place: int) -> None:
    """Tokens that are a value by themselves."""
    if token.kind in _SIMPLE:
        kind, spell = _SIMPLE[token.kind]
        end = token.start + len(trimmed(token.text)) if kind is Kind.URL else token.end
        at.add(kind, spell(token.text), token.start, end)
    elif token.kind == "domain":
        _domain(at, token)
    elif token.kind in ("iso", "dmy"):
        figures_date(at, token)
    elif token.kind == "time":
        if clock := time_of_day(token.text):
            at.add(Kind.TIME, clock, token.start, token.end)
    elif token.kind == "code":
        _code(at, token, place)


def _domain(at: Cursor, token: ValueToken) -> None:
    ending = token.text.rpartition(".")[2]
    if ending.casefold() in at.units.file_endings:
        at.add(Kind.PATH, path(token.text), token.start, token.end)
    elif len(ending) > 1 and ending.isalpha() and not (ending[0].isupper() and ending[1:].islower()):
        at.add(Kind.DOMAIN, token.text.casefold(), token.start, token.end)


def _code(at: Cursor, token: ValueToken, place: int) -> None:
    if match := _HYPHENED.fullmatch(token.text):
        value = canonical(Decimal(match[1]))
        at.add(Kind.NUMBER, value, token.start, token.end, unit=match[2])
    elif _YEAR_MONTH.fullmatch(token.text) and not names_an_identifier(at, place):
        at.add(Kind.DATE, token.text, token.start, token.end)
    elif token.text.isdigit() and not names_an_identifier(at, place):
        _number(at, place)
    else:
        at.add(Kind.CODE, compact(token.text), token.start, token.end)


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


@cache
def _not_names() -> frozenset[str]:
    return frozenset({*units().currencies, *lexemes().words})


def _stands_before_no_number(at: Cursor, place: int) -> bool:
    return place + 1 >= len(at.tokens) or at.tokens[place + 1].kind != "number"


def _quoted(match: re.Match[str]) -> Salient:
    return Salient(Kind.QUOTED, " ".join(match[1].casefold().split()), match.span())


_SIMPLE: dict[str, tuple[Kind, Callable[[str], str]]] = {
    "url": (Kind.URL, url),
    "email": (Kind.EMAIL, email),
    "spoken_email": (Kind.EMAIL, email),
    "iban": (Kind.IBAN, compact),
    "wallet": (Kind.WALLET, wallet),
    "phone": (Kind.PHONE, phone),
    "card": (Kind.CODE, compact),
    "dotted": (Kind.CODE, str.casefold),
    "path": (Kind.PATH, path),
    "handle": (Kind.NAME, str.casefold),
}


def in_raw_text(found: ValueScan) -> tuple[Salient, ...]:
    """The values in the order of the text, with spans in the raw text."""
    if found.view.name == "raw":
        return tuple(found.values)
    return tuple(replace(value, span=found.view.raw_span(*value.span)) for value in found.values)


_RUN = re.compile(r"(?<!\d)\d{2,}+(?:[ .-]\d{2,}+)++")
_SHORTEST_RUN = 6


def digit_runs(text: str) -> list[str]:
    """Long numbers written in groups, joined; whoever regroups an account number still writes its digits."""
    joined = [compact(match[0]) for match in _RUN.finditer(plain(text).text)]
    return [digits for digits in joined if len(digits) >= _SHORTEST_RUN]


_ENDS = frozenset(".!?:;\n")
_BINDERS = frozenset({"of", "de", "van", "von", "di", "da", "del", "la", "&"})


def names(
    tokens: list[ValueToken],
    lower: list[str],
    language: Language,
    taken: Collection[int],
    not_names: Collection[str],
) -> list[Salient]:
    """Runs of capitalised words outside other values."""
    found: list[Salient] = []
    place = 0
    while place < len(tokens):
        if not _is_capital(tokens[place], lower[place], language, taken, not_names):
            place += 1
            continue
        end = _run_end(tokens, lower, place, language, taken, not_names)
        found.append(_name(tokens, place, end, language))
        place = end
    return found


def _is_capital(
    token: ValueToken, low: str, language: Language, taken: Collection[int], not_names: Collection[str]
) -> bool:
    if token.kind != "word" or not token.text[0].isupper() or token.start in taken:
        return False
    bare = bare_word(low)
    return bare not in language.roles and low not in language.roles and bare not in not_names


def _run_end(
    tokens: list[ValueToken],
    lower: list[str],
    place: int,
    language: Language,
    taken: Collection[int],
    not_names: Collection[str],
) -> int:
    end = place + 1
    while end < len(tokens) and tokens[end].start - tokens[end - 1].end <= 1:
        if tokens[end - 1].text.endswith(("'s", "s'")):
            break
        if _is_capital(tokens[end], lower[end], language, taken, not_names):
            end += 1
        elif (
            lower[end] in _BINDERS
            and end + 1 < len(tokens)
            and _is_capital(tokens[end + 1], lower[end + 1], language, taken, not_names)
            and lower[end] not in ("of", "da")
        ):
            end += 2
        else:
            break
    return end


def _name(tokens: list[ValueToken], place: int, end: int, language: Language) -> Salient:
    words = [bare_word(token.text.casefold()) for token in tokens[place:end]]
    begins = place == 0 or tokens[place - 1].text in _ENDS or tokens[place - 1].text == '"'
    telling = end - place > 1 or tokens[place].text.endswith(("'s", "s'")) or not tokens[place].text[1:].islower()
    sure = (telling or not begins) and not language.capital_nouns
    span = (tokens[place].start, tokens[end - 1].end)
    # "Pay Northwind" may be a firm, or Northwind after a verb that begins the sentence.
    also = (" ".join(words[1:]),) if begins and len(words) > 1 else ()
    return Salient(Kind.NAME, " ".join(words), span, also=also, sure=sure)


def bare_word(low: str) -> str:
    """A word without its possessive ending."""
    if low.endswith("'s"):
        return low[:-2]
    return low.rstrip("'")
