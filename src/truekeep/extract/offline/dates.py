"""Turns "tomorrow", "last month" or "two weeks ago" into the date they had when the message was sent.

Mechanical: the message's own time and the language's tables, nothing else. A phrase that could mean two dates
stays as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from truekeep.text.language import language

if TYPE_CHECKING:
    from truekeep.extract.offline.grammar import Grammar

_WORD = re.compile(r"\d+|[^\W\d_]+")
_FUTURE = re.compile(r"\b(?:'m|am|'ll|will|leaves?|have|has|is|starts?|arrives?|meeting|flying|going)\b|'m\b|'ll\b")


@dataclass(frozen=True, slots=True)
class DateEdit:
    """A stretch of a text and what is put in its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Found:
    """A date phrase: how many words it takes, and the date at the precision it was said with."""

    words: int
    unit: str
    when: date


def date_edits(clause: str, grammar: Grammar, sent: date) -> list[DateEdit]:
    """The replacements that make a clause's relative dates absolute."""
    if not grammar.spaced:
        return list(_unspaced(clause, grammar, sent))
    words = [(match[0].lower(), match.start(), match.end()) for match in _WORD.finditer(clause)]
    edits: list[DateEdit] = []
    at = 0
    while at < len(words):
        found = _at([word for word, _, _ in words[at : at + 5]], words[at - 1][0] if at else "", clause, grammar, sent)
        if found is None:
            at += 1
            continue
        edits.append(DateEdit(words[at][1], words[at + found.words - 1][2], _shown(found, grammar)))
        at += found.words
    return edits


def _unspaced(clause: str, grammar: Grammar, sent: date) -> Iterator[DateEdit]:
    for word, offset in grammar.days.items():
        at = clause.find(word)
        if at >= 0:
            found = _Found(1, "day", sent + timedelta(days=offset))
            yield DateEdit(at, at + len(word), _shown(found, grammar))


def _at(words: list[str], before: str, clause: str, grammar: Grammar, sent: date) -> _Found | None:
    """The date phrase that starts at the first of these words, longest form first."""
    return (
        _counted(words, grammar, sent)
        or _relative(words, grammar, sent)
        or _weekday(words, clause, grammar, sent)
        or _day(words, before, grammar, sent)
    )


def _day(words: list[str], before: str, grammar: Grammar, sent: date) -> _Found | None:
    offset = grammar.days.get(words[0])
    if offset is None or before in grammar.dates.get("not_after", ()):
        return None
    return _Found(1, "day", sent + timedelta(days=offset))


def _weekday(words: list[str], clause: str, grammar: Grammar, sent: date) -> _Found | None:
    """ "on Friday" is the coming one, but only where the clause looks ahead."""
    prefixes = {text.split(" ", 1)[0] for text in grammar.dates.get("weekday", ())}
    if len(words) < 2 or words[0] not in prefixes or not _FUTURE.search(clause.lower()):
        return None
    day = language(grammar.name).weekdays.get(words[1])
    if day is None:
        return None
    return _Found(2, "day", sent + timedelta(days=(day - sent.weekday() - 1) % 7 + 1))


def _relative(words: list[str], grammar: Grammar, sent: date) -> _Found | None:
    """ "last week", "next month"; in some languages the other way round, after an article."""
    dates = grammar.dates
    first, second = (words[1:2], words[0:1]) if dates.get("after") else (words[0:1], words[1:2])
    if not first or not second:
        return None
    step = -1 if first[0] in dates["past"] else 1 if first[0] in dates["next"] else None
    if step is None:
        return None
    weekday = language(grammar.name).weekdays.get(second[0])
    if weekday is not None:
        monday = sent - timedelta(days=sent.weekday())
        back = sent - timedelta(days=(sent.weekday() - weekday - 1) % 7 + 1)
        return _Found(2, "day", back if step < 0 else monday + timedelta(days=7 + weekday))
    unit = _unit(second[0], grammar)
    return None if unit is None else _Found(2, unit, _moved(sent, unit, step))


def _counted(words: list[str], grammar: Grammar, sent: date) -> _Found | None:
    """ "three days ago", "in two weeks": a number, a unit, and the words that say which way."""
    for way, sign in (("ago", -1), ("ahead", 1)):
        form = grammar.dates[way].split(" ") if way in grammar.dates else []
        if not form or len(words) < len(form):
            continue
        number = unit = None
        for slot, word in zip(form, words, strict=False):
            if slot == "{n}":
                number = _number(word, grammar)
            elif slot == "{unit}":
                unit = _count_unit(word, grammar)
            elif slot != word:
                break
        else:
            if number is not None and unit is not None:
                return _moved_by(len(form), sent, unit, sign * number)
    return None


def _moved_by(length: int, sent: date, unit: str, count: int) -> _Found | None:
    if unit in ("day", "week"):
        return _Found(length, "day", sent + timedelta(days=count * (7 if unit == "week" else 1)))
    return _Found(length, unit, _moved(sent, unit, count))


def _number(word: str, grammar: Grammar) -> int | None:
    value = int(word) if word.isdecimal() and len(word) < 4 else language(grammar.name).numbers.get(word)
    if value is None and word in language(grammar.name).indefinite:
        value = 1
    return value if value is not None and 0 < value < 200 else None


def _unit(word: str, grammar: Grammar) -> str | None:
    for unit, names in (("week", "weeks"), ("month", "months"), ("year", "years")):
        if word in grammar.dates.get(names, ()):
            return unit
    return None


def _count_unit(word: str, grammar: Grammar) -> str | None:
    return _unit(word, grammar) or ("day" if language(grammar.name).spans.get(word) == 1 else None)


def _moved(sent: date, unit: str, count: int) -> date:
    """The week, month or year that is so many away; its first day stands for it."""
    if unit == "week":
        return sent - timedelta(days=sent.weekday()) + timedelta(weeks=count)
    months = (sent.year * 12 + sent.month - 1 + count) if unit == "month" else (sent.year + count) * 12
    return date(months // 12, months % 12 + 1, 1)


def _shown(found: _Found, grammar: Grammar) -> str:
    precision = {"day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[found.unit]
    form: str = grammar.dates[found.unit]
    return form.format(date=found.when.strftime(precision))
