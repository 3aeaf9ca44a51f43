"""The tree of a pattern: what JavaScript's regular expressions can say, with every class spelled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from truekeep.rules.pattern.charset import CharSet

INFINITY = -1
AnchorKind = Literal["start", "end", "line_start", "line_end", "word", "not_word"]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class PatternSequence:
    """Parts one after the other; no parts is the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several options."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part repeated between ``least`` and ``most`` times (``INFINITY`` for no upper bound)."""

    part: Node
    least: int
    most: int
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """A capturing group; it matters only to back-references."""

    part: Node
    number: int


@dataclass(frozen=True, slots=True)
class PatternAnchor:
    """A place rather than a character."""

    kind: AnchorKind


@dataclass(frozen=True, slots=True)
class LookAround:
    """A condition on the text ahead of or behind this place."""

    part: Node
    behind: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text that a group matched, again."""

    group: int


Node = Chars | PatternSequence | Choice | Repeat | PatternGroup | PatternAnchor | LookAround | BackReference
EMPTY = PatternSequence(())


class PatternError(ValueError):
    """A pattern that cannot be used; the text says why and where."""
