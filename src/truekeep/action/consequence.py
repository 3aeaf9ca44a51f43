"""Say whether an action is consequential: by the operator's word, else by its name or by what its arguments choose."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from truekeep.action.arguments import Leaf
from truekeep.action.chosen import chooses_action, is_run
from truekeep.action.settings import ActionSettings
from truekeep.text.fold import fold
from truekeep.text.language import read_table
from truekeep.text.view import View

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
"""A word of a name in any style: ``update_password``, ``updatePassword``, ``update-password``."""
_NAMESPACE = re.compile(r"[.:/]|__")
_LATIN_ENDS = "\u0250"
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


@dataclass(frozen=True, slots=True)
class _Names:
    telling: tuple[str, ...]
    innocent: tuple[str, ...]
    words: frozenset[str]
    first: frozenset[str]
    reading: frozenset[str]


@cache
def _names() -> _Names:
    table = read_table("actions", "consequential.toml")
    verbs = read_table("actions", "requests.toml")["verbs"]
    asked = {form for forms in verbs.values() for form in forms} - set(table["everyday"])
    # Names of functions are often written without accents, and in German with an e instead.
    asked |= {_plain(form) for form in asked} | {form.translate(_UMLAUTS) for form in asked}
    return _Names(
        tuple(table["names"]),
        tuple(table["innocent"]),
        frozenset(table["words"]) | asked,
        frozenset(table["first"]),
        frozenset(table["reading"]),
    )


def is_consequential(name: str, settings: ActionSettings, arguments: tuple[Leaf, ...] = ()) -> bool:
    """Whether a mistake in this action hurts. Neither a look-alike or spaced-out name hides it nor a general tool."""
    if settings.consequential is not None:
        return settings.consequential
    if _by_name(name):
        return True
    words = frozenset(_words(_plain(name)))
    is_reading = not words.isdisjoint(_names().reading)
    return any(
        is_run(leaf, words, is_reading=is_reading) or any(_by_name(said) for said in chooses_action(leaf, words))
        for leaf in arguments
    )


def _by_name(name: str) -> bool:
    names, plain = _names(), _plain(name)
    return _tells(plain.casefold(), names) or _changes(plain, names) or _is_unread(plain)


def _plain(name: str) -> str:
    return fold(View("raw", name)).text


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]


def _tells(plain: str, names: _Names) -> bool:
    for word in names.innocent:
        plain = plain.replace(word, "_")
    bare = "".join(char for char in plain if char.isalnum())
    spaced_out = all(len(part) <= 1 for part in plain.replace(".", "_").replace("-", "_").split("_"))
    return any(word in plain or (spaced_out and word in bare) for word in names.telling)


def _changes(name: str, names: _Names) -> bool:
    words = _words(name)
    if not words or words[0] in names.reading:
        return False
    if not names.words.isdisjoint(words):
        return True
    firsts = {part[0] for part in map(_words, _NAMESPACE.split(name)) if part}
    return not names.first.isdisjoint(firsts) and names.reading.isdisjoint(words)


def _is_unread(name: str) -> bool:
    """Whether it is written in letters for which there is no list here: then nobody knows what it does."""
    return any(char >= _LATIN_ENDS and char.isalpha() for char in name)
