"""Sizes of a pattern, worked out from its tree alone: can it be empty, how far does it look, how many states."""

from __future__ import annotations

import math

from truekeep.rules.pattern.automaton import MAX_STATES
from truekeep.rules.pattern.syntax import (
    INFINITY,
    BackReference,
    Chars,
    Choice,
    LookAround,
    Node,
    PatternAnchor,
    PatternError,
    PatternGroup,
    PatternSequence,
    Repeat,
)


def is_empty_everywhere(node: Node) -> bool:
    """Whether the pattern matches the empty text at every place, and so says nothing."""
    match node:
        case PatternSequence():
            return all(is_empty_everywhere(part) for part in node.parts)
        case Choice():
            return any(is_empty_everywhere(option) for option in node.options)
        case Repeat():
            return node.least == 0 or is_empty_everywhere(node.part)
        case PatternGroup():
            return is_empty_everywhere(node.part)
        case _:
            return False


def can_be_empty(node: Node) -> bool:
    """Whether some match takes no characters (an anchor alone, say)."""
    match node:
        case PatternSequence():
            return all(can_be_empty(part) for part in node.parts)
        case Choice():
            return any(can_be_empty(option) for option in node.options)
        case Repeat():
            return node.least == 0 or can_be_empty(node.part)
        case PatternGroup():
            return can_be_empty(node.part)
        case Chars():
            return False
        case _:
            return True


def needs_beyond_ascii(node: Node) -> bool:
    """Whether every match has a character beyond ASCII in it."""
    match node:
        case Chars():
            return bool(node.chars) and node.chars.ranges[0][0] > 127
        case PatternSequence():
            return any(needs_beyond_ascii(part) for part in node.parts)
        case Choice():
            return all(needs_beyond_ascii(option) for option in node.options)
        case Repeat():
            return node.least > 0 and needs_beyond_ascii(node.part)
        case PatternGroup():
            return needs_beyond_ascii(node.part)
        case _:
            return False


def reach(node: Node) -> float:
    """How many characters decide about one match, look-arounds and word edges included; infinite without a bound."""
    match node:
        case PatternSequence():
            return sum(map(reach, node.parts))
        case Choice():
            return max(map(reach, node.options), default=0)
        case Repeat():
            return math.inf if node.most == INFINITY else node.most * reach(node.part)
        case PatternGroup() | LookAround():
            return reach(node.part)
        case BackReference():
            return math.inf
        case _:
            return 1


def states(node: Node) -> int:
    """How many states the linear matcher needs, look-arounds included."""
    match node:
        case Chars():
            return 1
        case PatternSequence():
            return sum(states(part) for part in node.parts)
        case Choice():
            return sum(states(option) for option in node.options)
        case Repeat():
            copies = max(node.least, 1) if node.most == INFINITY else node.most
            return copies * states(node.part)
        case PatternGroup() | LookAround():
            return states(node.part)
        case PatternAnchor() | BackReference():
            return 0


def check_size(node: Node) -> None:
    """Refuse a pattern that the linear matcher could not hold."""
    if states(node) > MAX_STATES:
        raise PatternError(f"pattern needs more than {MAX_STATES:,} states; make its repetitions smaller")
