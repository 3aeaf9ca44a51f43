"""What to look for: an argument's value as the single things that each have to come from somewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from urllib.parse import unquote

from truekeep.action.arguments import Leaf
from truekeep.action.chosen import is_run_by_name
from truekeep.action.keys import host, joined, value_keys
from truekeep.action.kinds import ADDRESSES, TELLING, is_in_hundredths, role_of
from truekeep.text import folded, views
from truekeep.text.runs import decoded_runs
from truekeep.text.salient import Kind, Salient, loose, scan
from truekeep.text.salient.numbers import canonical

_WORD = re.compile(r"[^\W_]+")
_LEGAL_FORMS = frozenset({"ltd", "inc", "gmbh", "llc", "corp", "plc", "ag", "sa", "co", "as", "sro", "spa", "bv", "kg"})
_WORDY = frozenset({Kind.NAME, Kind.NEGATION, Kind.QUOTED})
_LONG_TEXT = 6
_SHORTEST_LOOSE = 5
_SHORTEST_PART = 6
_SHORTEST_CODE = 4
_MOST_RUNS = 16
# Signs that nobody says in passing and that a tool may act on: all of them, none of them, elsewhere, from here on.
_ACTING = re.compile(r"[*~$|<>\\`^=\[\]{}\x00-\x08]|%(?![0-9A-Fa-f]{2})|\.\.|--|^\s*[-+/!]")
_ENCODED = re.compile(r"[A-Za-z0-9+/_=-]{8,}|%[0-9A-Fa-f]{2}|&#|\\[ux]|[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to trace: exact keys that prove it, words that prove it, loose keys that give hearsay away."""

    role: str
    keys: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    loose_keys: tuple[str, ...] = ()
    is_telling: bool = False
    """Whether a match in hearsay needs no related words around it."""
    passage: str = ""
    """A longer text, of which a copied part gives hearsay away."""
    choice: bool | None = None
    """A boolean: which way the argument's name is affirmed."""
    is_choice: bool = False
    verbatim: str = ""
    """What has to stand just so where it comes from, sign by sign."""
    is_run: bool = False
    """Whether the text is run as it stands."""


def wanted(leaf: Leaf) -> tuple[Wanted, ...]:
    """The things in an argument that have to be traced, each by itself."""
    role = role_of(leaf.name_words)
    value = leaf.value
    if value is None or isinstance(value, bool):
        return (Wanted(role, words=leaf.name_words, choice=bool(value), is_choice=True),)
    if isinstance(value, str):
        return _exactly(value, leaf, _from_text(value, leaf, role)) if value.strip() else (_nothing(leaf, role),)
    number = Decimal(str(value))
    return (_number(canonical(number / 100 if is_in_hundredths(leaf.name_words) else number), role),)


def _exactly(text: str, leaf: Leaf, wants: tuple[Wanted, ...]) -> tuple[Wanted, ...]:
    """Words alone do not make a command, a pattern or a path: ``rm build`` is not ``rm * build``."""
    is_run = is_run_by_name(leaf)
    if not is_run and not _acts(text):
        return wants
    return (replace(wants[0], verbatim=text.strip(), is_run=is_run), *wants[1:])


def _acts(text: str) -> bool:
    """Whether a text has signs that a tool may act on; the dollar sign of an amount is none."""
    scanned = scan(text)
    left = list(scanned.view.text)
    for value in scanned.values:
        if value.kind not in _WORDY:
            left[slice(*value.span)] = "x" * (value.span[1] - value.span[0])
    return _ACTING.search("".join(left)) is not None


def _nothing(leaf: Leaf, role: str) -> Wanted:
    return Wanted(role, words=leaf.name_words, choice=False, is_choice=True)


def _number(value: str, role: str) -> Wanted:
    keys = [f"number:{value}", f"amount:{value}"]
    if role == "account":
        keys = [f"code:{value}", f"number:{value}", f"joined:{value}"]
    elif role == "count":
        keys = keys[:1]
    elif role == "date":
        keys = [f"date:{value}"]
    elif not role and len(value) >= _SHORTEST_CODE:
        keys.append(f"code:{value}")  # "order 20441" is no quantity
    loose_keys = (f"loose:{loose(value)}", f"amount:{value}", f"number:{value}")
    return Wanted(role, tuple(keys), loose_keys=loose_keys, is_telling=role == "account" and len(value) >= 4)


def _from_text(text: str, leaf: Leaf, role: str) -> tuple[Wanted, ...]:
    plain = unquote(text) if "%" in text else text
    words = words_of(plain)
    scanned = scan(plain)
    values = [v for v in scanned.values if v.kind not in _WORDY]
    whole = "".join(_WORD.findall(scanned.view.text)).casefold()
    if len(values) == 1 and _covers(values[0], scanned.view.text):
        return (_value(values[0], leaf, role, scanned.view.text),)
    hidden = _hidden_keys(text)
    names = tuple(f"loose:{loose(v.value)}" for v in scanned.values if v.kind is Kind.NAME and v.sure)
    loose_keys = (*hidden, *names, *([f"loose:{loose(whole)}"] if len(whole) >= _SHORTEST_LOOSE else []))
    phrase = Wanted(
        role,
        keys=(f"joined:{whole}",) if len(whole) >= _SHORTEST_LOOSE and any(c.isdigit() for c in whole) else (),
        words=words,
        loose_keys=loose_keys,
        is_telling=bool(loose_keys),
        passage=plain if len(words) >= _LONG_TEXT else "",
    )
    inner = role if len(words) < _LONG_TEXT else ""
    return (phrase, *(_value(value, leaf, inner, scanned.view.text) for value in values))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a value, without what only says a firm's legal form."""
    words = _WORD.findall(folded(text))
    bare = tuple(word for word in words if word not in _LEGAL_FORMS)
    return bare or tuple(words)


def _covers(value: Salient, text: str) -> bool:
    outside = text[: value.span[0]] + text[value.span[1] :]
    return not any(char.isalnum() for char in outside)


def _value(value: Salient, leaf: Leaf, role: str, text: str) -> Wanted:
    """One typed value; a number takes its type from the argument's name."""
    if value.kind is Kind.NUMBER:
        amount = value.value
        if is_in_hundredths(leaf.name_words):
            amount = canonical(Decimal(amount) / 100)
        return _number(amount, role)
    keys = {value.key}
    if value.kind in (Kind.CODE, Kind.PHONE, Kind.IBAN):
        keys |= {f"joined:{joined(value.value)}", f"code:{value.value}"}
        if value.value.isdigit():
            keys.add(f"number:{value.value}")
    loose_keys = value_keys(value, None, is_loose=True) - {value.key} | {f"loose:{loose(value.value)}"}
    loose_keys -= {key for key in loose_keys if key.startswith(("currency:", "joined:", "host:"))}
    if value.kind not in ADDRESSES:
        loose_keys = {key for key in loose_keys if not key.startswith("loosehost:")}
    return Wanted(
        role,
        keys=tuple(sorted(keys)),
        loose_keys=(*sorted(loose_keys), *_inside(value, text), *_hidden_keys(text[slice(*value.span)])),
        is_telling=value.kind in TELLING,
    )


def _inside(value: Salient, text: str) -> tuple[str, ...]:
    """The longer parts of a code: an account number may stand between slashes."""
    if value.kind is not Kind.CODE:
        return ()
    parts = _WORD.findall(text[slice(*value.span)])
    return tuple(f"loose:{loose(part)}" for part in parts if len(part) >= _SHORTEST_PART)


def _hidden_keys(text: str) -> tuple[str, ...]:
    """Loose keys of what an encoded or disguised text says when it is read the other ways."""
    if not text or not _ENCODED.search(text):
        return ()
    keys: list[str] = []
    for reading in (*(view.text for view in views(text)[1:]), *decoded_runs(text, _MOST_RUNS)):
        keys.append(f"loose:{loose(reading)}")
        for value in scan(reading).values:
            if value.kind in TELLING and value.sure:
                keys.append(f"loose:{loose(value.value)}")
                if value.kind in ADDRESSES:
                    keys.append(f"loosehost:{loose(host(value))}")
    return tuple(keys)
