"""The words of wishes in each language, and where phrases stand in a clause; the table of English tells the keys."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from truekeep.text.language import language_table, languages_with
from truekeep.text.topics import TABLE, is_unspaced
from truekeep.text.words import words

MARK = "\u00a7"
"""Stands for a quotation."""
_QUOTATION = "quotation0"
NONE: frozenset[str] = frozenset()
_ORDERS = ("forget", "delete")
_HEADS = ("to_forget", "to_delete", "parted", "may_go", "unsaid", "now", "slips", "over", "over_parted", "no", "nay")

Words = tuple[str, ...]
Phrases = dict[str, tuple[Words, ...]]
"""Phrases by their first word, the longest first."""


@dataclass(frozen=True, slots=True)
class Forms:
    """The words of one language."""

    name: str
    forget: Phrases
    delete: Phrases
    to_forget: Phrases
    """Forms that ask only together with words that do (infinitives)."""
    to_delete: Phrases
    may_go: Phrases
    """What is said behind a thing that is to be forgotten ("can go")."""
    parted: dict[str, frozenset[str]]
    """Verbs in two parts ("nimm … raus"): the second by the first."""
    pointing: frozenset[Words]
    """The verbs that have "it" within them."""
    ask: Phrases
    polite: frozenset[str]
    guards: Phrases
    denials: Phrases
    topics: Phrases
    """How what was said is named ("the thing about", "what I told you"): the memory is surely meant."""
    everything: Phrases
    this: Phrases
    unsaid: frozenset[Words]
    things: Phrases
    """What lies in files and calendars."""
    says: Phrases
    mine: frozenset[str]
    now: Phrases
    slips: Phrases
    over: Phrases
    over_parted: dict[str, frozenset[str]]
    but: frozenset[str]
    no: tuple[Words, ...]
    nay: frozenset[Words]
    """Whole clauses that say no to what was said: another value behind them puts it right."""
    is_first: bool
    """Whether an order looks like a statement ("olvida"), so that nothing but small words may stand before it."""
    spoken: frozenset[str]
    """Words by which neighbouring languages are told apart."""
    cues: frozenset[str]
    """Words of which a message has one if it can be a wish at all."""


def cut(text: str, name: str) -> Words:
    """A clause as words: folded, or sign by sign where a language has no spaces; a quotation is a word of its own."""
    if is_unspaced(name):
        return tuple("".join(unicodedata.normalize("NFKC", text).casefold().split()))
    marked = text.replace(MARK, f" {_QUOTATION} ") if MARK in text else text
    return tuple(words(marked))


def joined(said: Iterable[str], forms: Forms) -> str:
    """Words as one text."""
    return ("" if is_unspaced(forms.name) else " ").join(said)


def without(said: Words, small: frozenset[str]) -> Words:
    """Words without the small ones."""
    return tuple(word for word in said if word not in small)


def ends(phrases: Phrases, said: Sequence[str], start: int) -> int:
    """Where a phrase ends that begins at a place; 0 if none does."""
    known = phrases.get(said[start]) if start < len(said) else None
    if not known:  # nearly always, and this is asked of every word in a dozen ways
        return 0
    return next((start + len(one) for one in known if tuple(said[start : start + len(one)]) == one), 0)


def closes(phrases: Phrases, said: Words) -> bool:
    """Whether a phrase ends with the last word."""
    return any(ends(phrases, said, start) == len(said) for start in range(max(len(said) - 5, 0), len(said)))


def holds(said: Words, phrases: Phrases) -> bool:
    """Whether a phrase stands anywhere in a clause."""
    return any(ends(phrases, said, start) for start, word in enumerate(said) if word in phrases)


@cache
def all_forms() -> tuple[Forms, ...]:
    """The words of every language that has a table."""
    return tuple(_forms(name) for name in languages_with(TABLE))


def _forms(name: str) -> Forms:
    table = language_table(name, TABLE)

    def listed(*keys: str) -> list[Words]:
        return [cut(one, name) for key in keys for one in table.get(key, ())]

    def phrases(*keys: str) -> Phrases:
        return _by_first(listed(*keys))

    def single(*keys: str) -> frozenset[str]:
        return frozenset(word for one in listed(*keys) for word in one)

    clitics = [one for spelt in listed("it") for one in spelt]
    pointing = {kind: [(*one[:-1], one[-1] + it) for one in listed(kind) for it in clitics] for kind in _ORDERS}
    forget, delete = ([*listed(kind), *pointing[kind]] for kind in _ORDERS)
    heads = [*forget, *delete, *listed(*_HEADS)]
    return Forms(
        name,
        forget=_by_first(forget),
        delete=_by_first(delete),
        to_forget=phrases("to_forget"),
        to_delete=phrases("to_delete"),
        may_go=phrases("may_go"),
        parted=_pairs(listed("parted")),
        pointing=frozenset(pointing["forget"] + pointing["delete"]),
        ask=phrases("ask"),
        polite=single("polite"),
        guards=phrases("guards", "denials"),
        denials=phrases("denials"),
        topics=phrases("topics"),
        everything=phrases("everything"),
        this=phrases("this"),
        unsaid=frozenset(listed("unsaid")),
        things=phrases("things"),
        says=phrases("says"),
        mine=single("mine"),
        now=phrases("now", "slips"),
        slips=phrases("slips"),
        over=phrases("over"),
        over_parted=_pairs(listed("over_parted")),
        but=single("but"),
        no=tuple(sorted(listed("no"), key=len, reverse=True)),
        nay=frozenset(listed("nay")),
        is_first=bool(table.get("orders_first", False)),
        spoken=single("vague", "polite", "now"),
        cues=frozenset("".join(one) if is_unspaced(name) else one[0] for one in heads if one),
    )


def _pairs(spelt: Sequence[Words]) -> dict[str, frozenset[str]]:
    """The last words of phrases in two parts, by the first."""
    return {first[0]: frozenset(one[-1] for one in spelt if one[0] == first[0]) for first in spelt}


def _by_first(spelt: Iterable[Words]) -> Phrases:
    made: dict[str, list[Words]] = {}
    for one in sorted(set(spelt), key=len, reverse=True):
        made.setdefault(one[0], []).append(one)
    return {first: tuple(found) for first, found in made.items()}


def is_parted(clause: Words, parted: dict[str, frozenset[str]]) -> bool:
    """Whether a phrase in two parts stands in a clause ("ne … plus")."""
    return any(not parted.get(word, NONE).isdisjoint(clause[place + 1 :]) for place, word in enumerate(clause))
