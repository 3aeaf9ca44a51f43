"""See an action inside a general tool's arguments: text that is run as it stands, or a name of what is to be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from truekeep.action.arguments import Leaf, name_words
from truekeep.text.language import read_table

_PROGRAM = re.compile(r"[^\w\s.,:/+#-]|\n|\b(?:import|print|return)\b")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|--[^\n]*|#[^\n]*", re.DOTALL)
_CLAUSE = re.compile(r"[;()]")
_WORD = re.compile(r"\w+")
_LEADING = frozenset({"explain", "analyze", "verbose", "begin"})
_NEAR = 6
_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class _Arguments:
    run: frozenset[str]
    programs: frozenset[str]
    choosing: frozenset[str]
    beside: frozenset[str]
    changing: frozenset[str]
    dispatchers: frozenset[str]
    databases: frozenset[str]
    statements: frozenset[str]
    writes: dict[str, frozenset[str]]


@cache
def _arguments() -> _Arguments:
    table = dict(read_table("actions", "consequential.toml")["arguments"])
    writes = {verb: frozenset(after) for verb, after in table.pop("writes").items()}
    return _Arguments(writes=writes, **{name: frozenset(words) for name, words in table.items()})


def is_run_by_name(leaf: Leaf) -> bool:
    """Whether an argument's name says that its text is run as it stands: there every sign counts."""
    known = _arguments()
    return not (known.run | known.statements).isdisjoint((*leaf.name_words, *name_words(leaf.top)))


def is_run(leaf: Leaf, action: frozenset[str], *, is_reading: bool) -> bool:
    """Whether the argument is run and may change something. ``action`` has the words of the action's name."""
    known = _arguments()
    if not isinstance(leaf.value, str):
        return False
    if not known.run.isdisjoint((*leaf.name_words, *name_words(leaf.top))):
        return True
    if not known.programs.isdisjoint(leaf.name_words[-1:]):
        return _PROGRAM.search(leaf.value) is not None
    if not known.statements.isdisjoint(leaf.name_words):
        return not is_reading or _writes(leaf.value)
    return not known.databases.isdisjoint(action) and _writes(leaf.value)


def chooses_action(leaf: Leaf, action: frozenset[str]) -> Iterator[str]:
    """What the argument says is to be done, to be read like an action's name."""
    if not isinstance(leaf.value, str) or len(leaf.value) > _LONGEST_NAME or not _is_choice(leaf, action):
        return
    yield leaf.value
    if leaf.value.strip().casefold() in _arguments().changing:
        yield "post"


def _is_choice(leaf: Leaf, action: frozenset[str]) -> bool:
    known, words = _arguments(), set(leaf.name_words)
    if not words <= known.choosing | known.beside:
        return False
    if not words.isdisjoint(known.choosing):
        return True
    return "name" in words and not known.dispatchers.isdisjoint((*action, *name_words(leaf.top)))


def _writes(text: str) -> bool:
    """Whether a statement to a database changes something, as far as its first words show."""
    known = _arguments().writes
    for clause in _CLAUSE.split(_COMMENT.sub(" ", text.casefold())):
        words = [word for word in _WORD.findall(clause) if word not in _LEADING]
        after = known.get(words[0]) if words else None
        if after is not None and (not after or not after.isdisjoint(words[1:_NEAR])):
            return True
    return False
