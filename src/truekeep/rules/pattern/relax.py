"""What a pattern would match if it made no exceptions: its negative look-arounds and excluded characters left out."""

from __future__ import annotations

from truekeep.rules.pattern import charset
from truekeep.rules.pattern.syntax import (
    EMPTY,
    Chars,
    Choice,
    LookAround,
    Node,
    PatternAnchor,
    PatternGroup,
    PatternSequence,
    Repeat,
)

_FEW = 40


def relaxed(node: Node, *, words: bool = False) -> Node:  # noqa: PLR0911  # one return a kind of node
    """``node`` without its exceptions, and without word boundaries if ``words``; itself if there are none."""
    match node:
        case PatternAnchor():
            return EMPTY if words and node.kind == "word" else node
        case LookAround():
            return EMPTY if node.negated else node
        case Chars():
            return Chars(charset.EVERYTHING) if _excludes(node.chars) else node
        case PatternSequence():
            parts = tuple(relaxed(part, words=words) for part in node.parts)
            return node if _same(parts, node.parts) else PatternSequence(parts)
        case Choice():
            options = tuple(relaxed(option, words=words) for option in node.options)
            return node if _same(options, node.options) else Choice(options)
        case Repeat():
            part = relaxed(node.part, words=words)
            return node if part is node.part else Repeat(part, node.least, node.most, node.lazy)
        case PatternGroup():
            part = relaxed(node.part, words=words)
            return node if part is node.part else PatternGroup(part, node.number)
        case _:
            return node


def _excludes(chars: charset.CharSet) -> bool:
    """Whether the set is "everything but a few": an exception, unlike the dot, which merely keeps to its line."""
    if chars in (charset.EVERYTHING, charset.DOT):
        return False
    return charset.MAX_CODE_POINT + 1 - chars.size() <= _FEW


def _same(new: tuple[Node, ...], old: tuple[Node, ...]) -> bool:
    return all(one is two for one, two in zip(new, old, strict=True))
