"""Find the parts of a pattern that make a backtracking matcher slow: ours is not one, other people's are."""

from __future__ import annotations

from truekeep.rules.pattern.charset import NOTHING, CharSet
from truekeep.rules.pattern.measure import can_be_empty
from truekeep.rules.pattern.syntax import (
    INFINITY,
    Chars,
    Choice,
    LookAround,
    Node,
    PatternGroup,
    PatternSequence,
    Repeat,
)

_MANY = 50


def hazards(node: Node) -> list[str]:
    """What would blow up, in words; empty if nothing would."""
    found: list[str] = []
    _walk(node, found)
    return list(dict.fromkeys(found))


def _walk(node: Node, found: list[str]) -> None:
    match node:
        case Repeat():
            if _is_long(node) and _is_ambiguous_loop(node.part):
                found.append("a repetition inside a repetition can split the same text in many ways (exponential time)")
            _walk(node.part, found)
        case PatternSequence():
            if _has_touching_runs(node):
                found.append("neighbouring repetitions can share the same characters (polynomial time)")
            for part in node.parts:
                _walk(part, found)
        case Choice():
            for option in node.options:
                _walk(option, found)
        case PatternGroup() | LookAround():
            _walk(node.part, found)
        case _:
            return


def _is_long(node: Repeat) -> bool:
    return node.most == INFINITY or node.most >= _MANY


def _is_ambiguous_loop(part: Node) -> bool:
    """Whether repeating ``part`` gives one text several readings: a run that meets itself, or options that overlap."""
    inner = _inside(part)
    if isinstance(inner, Repeat) and _is_long(inner):
        return True
    if isinstance(inner, Choice):
        firsts = [first(option) for option in inner.options]
        return any(
            one.overlaps(two) and _can_be_equal(inner.options[a], inner.options[b])
            for a, one in enumerate(firsts)
            for b, two in enumerate(firsts)
            if a < b
        )
    if isinstance(inner, PatternSequence) and inner.parts:
        runs = [_inside(piece) for piece in inner.parts]
        wide = [run for run in runs if isinstance(run, Repeat) and _is_long(run)]
        rest_empty = all(can_be_empty(run) or run in wide for run in runs)
        return bool(wide) and rest_empty and all(first(run).overlaps(first(wide[0])) for run in wide)
    return False


def _can_be_equal(one: Node, two: Node) -> bool:
    """Options that can both take one and the same single character, or start with a run of it."""
    return _is_single(one) and _is_single(two)


def _is_single(node: Node) -> bool:
    inner = _inside(node)
    return isinstance(inner, Chars) or (isinstance(inner, Repeat) and isinstance(_inside(inner.part), Chars))


def _has_touching_runs(node: PatternSequence) -> bool:
    """Two long runs over shared characters with nothing in between that the text must have."""
    pending: CharSet | None = None
    for part in node.parts:
        inner = _inside(part)
        if isinstance(inner, Repeat) and inner.most == INFINITY and isinstance(_inside(inner.part), Chars):
            mine = first(inner)
            if pending is not None and pending.overlaps(mine):
                return True
            pending = mine
        elif not can_be_empty(part):
            pending = None
    return False


def _inside(node: Node) -> Node:
    while isinstance(node, PatternGroup) or (isinstance(node, PatternSequence) and len(node.parts) == 1):
        node = node.part if isinstance(node, PatternGroup) else node.parts[0]
    return node


def first(node: Node) -> CharSet:
    """The characters a match of ``node`` can begin with."""
    match node:
        case Chars():
            return node.chars
        case PatternSequence():
            result = NOTHING
            for part in node.parts:
                result |= first(part)
                if not can_be_empty(part):
                    break
            return result
        case Choice():
            result = NOTHING
            for option in node.options:
                result |= first(option)
            return result
        case Repeat() | PatternGroup():
            return first(node.part)
        case _:
            return NOTHING
