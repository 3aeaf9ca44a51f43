"""Say whether an action is consequential: by the operator's word, else by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from truekeep.action.settings import ActionSettings
from truekeep.text.fold import fold
from truekeep.text.language import read_table
from truekeep.text.view import View

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
"""A word of a name in any style: ``update_password``, ``updatePassword``, ``update-password``."""


@dataclass(frozen=True, slots=True)
class _Names:
    telling: tuple[str, ...]
    innocent: tuple[str, ...]
    words: frozenset[str]
    reading: frozenset[str]


@cache
def _names() -> _Names:
    table = read_table("actions", "consequential.toml")
    return _Names(
        tuple(table["names"]), tuple(table["innocent"]), frozenset(table["words"]), frozenset(table["reading"])
    )


def is_consequential(name: str, settings: ActionSettings) -> bool:
    """Whether a mistake in this action hurts. A look-alike or spaced-out name does not hide it."""
    if settings.consequential is not None:
        return settings.consequential
    names = _names()
    folded = fold(View("raw", name)).text
    return _tells(folded.casefold(), names) or _changes(folded, names)


def _tells(plain: str, names: _Names) -> bool:
    for word in names.innocent:
        plain = plain.replace(word, "_")
    bare = "".join(char for char in plain if char.isalnum())
    spaced_out = all(len(part) <= 1 for part in plain.replace(".", "_").replace("-", "_").split("_"))
    return any(word in plain or (spaced_out and word in bare) for word in names.telling)


def _changes(name: str, names: _Names) -> bool:
    words = [word.casefold() for word in _WORD.findall(name)]
    return bool(words) and words[0] not in names.reading and not names.words.isdisjoint(words)
