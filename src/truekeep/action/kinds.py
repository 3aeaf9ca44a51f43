"""Match types: what an argument's name asks for, and which kinds of value in a text can answer it."""

from __future__ import annotations

from functools import cache

from truekeep.text.language import read_table
from truekeep.text.salient import Kind, Salient

IDENTIFIERS = frozenset({Kind.IBAN, Kind.CODE, Kind.WALLET, Kind.PHONE})
ADDRESSES = frozenset({Kind.EMAIL, Kind.URL, Kind.DOMAIN})
TELLING = IDENTIFIERS | ADDRESSES | {Kind.PATH, Kind.NAME, Kind.QUOTED}
"""Kinds that give a source away by themselves; numbers and dates need a related sentence around them."""
_YEARS = range(1900, 2100)
_SHORTEST_IDENTIFIER = 4


@cache
def _by_word() -> dict[str, str]:
    table = read_table("actions", "arguments.toml")
    return {word: role for role, words in table.items() for word in words if role not in ("hundredths", "keyed")}


@cache
def _keyed() -> frozenset[str]:
    return frozenset(read_table("actions", "arguments.toml")["keyed"])


@cache
def _hundredths() -> frozenset[str]:
    return frozenset(read_table("actions", "arguments.toml")["hundredths"])


def role_of(name_words: tuple[str, ...]) -> str:
    """What kind of value an argument of that name takes, or nothing when the name does not say.

    The last telling word counts, as in ``recipient_account``.
    """
    known = _by_word()
    return next((known[word] for word in reversed(name_words) if word in known), "")


def is_in_hundredths(name_words: tuple[str, ...]) -> bool:
    """Whether the argument counts cents."""
    return not _hundredths().isdisjoint(name_words)


def is_keyed(name_words: tuple[str, ...]) -> bool:
    """Whether what such an argument maps from are values, not names of fields."""
    return not _keyed().isdisjoint(name_words[-1:])


def looks_like_year(value: str) -> bool:
    """A bare number that is more often a year than a quantity."""
    return len(value) == 4 and value.isdigit() and int(value) in _YEARS


def answers(role: str, found: Salient, *, strictly: bool) -> bool:
    """Whether a value found in a text can be what an argument of this role takes.

    ``strictly`` is for remembered text, where a bare number proves no amount unless it says that it is money.
    """
    if found.kind is Kind.NUMBER:
        return _number_answers(role, found, strictly)
    taken = _TAKEN.get(role)
    return taken is None or found.kind in taken


def _number_answers(role: str, found: Salient, strictly: bool) -> bool:
    if role == "amount":
        return not (strictly or found.unit or looks_like_year(found.value))
    if role == "account":
        return not found.unit and len(found.value) >= _SHORTEST_IDENTIFIER
    return role not in ("date", "party", "currency")


_TAKEN = {
    "amount": frozenset({Kind.MONEY}),
    "account": IDENTIFIERS,
    "date": frozenset({Kind.DATE, Kind.TIME}),
    "count": frozenset[Kind](),
    "party": frozenset({Kind.NAME, Kind.QUOTED}) | ADDRESSES | IDENTIFIERS,
    "currency": frozenset({Kind.CURRENCY, Kind.MONEY}),
}
