"""Find the short strings one of which every match of a pattern must contain: the portable prefilter's food."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from truekeep.rules.pattern.charset import CharSet
from truekeep.rules.pattern.syntax import (
    Chars,
    Choice,
    LookAround,
    Node,
    PatternAnchor,
    PatternGroup,
    PatternSequence,
    Repeat,
)

MAX_STRINGS = 24
"""Strings of which one must be in a text for a pattern to match; more filter no better."""
MAX_LENGTH = 24
"""Longer strings are no rarer."""
_SPREAD = 4
_SIGMA = 0x3A3  # str.lower() makes a different letter of it at the end of a word


@dataclass(frozen=True, slots=True)
class _Facts:
    """``whole``: all lower-cased texts a node can match, if few. ``needed``: one of these is in every match."""

    whole: frozenset[str] | None
    needed: frozenset[str] | None


_UNKNOWN = _Facts(None, None)
_EMPTY = _Facts(frozenset({""}), None)


def required(node: Node) -> frozenset[str]:
    """Lower-case strings one of which occurs in the lower-cased text of every match; empty if none are known."""
    facts = _facts(node)
    return _better(facts.needed, facts.whole) or frozenset()


def _score(strings: frozenset[str] | None) -> tuple[int, int]:
    if not strings:
        return (0, 0)
    return (min(len(string) for string in strings), -len(strings))


def _better(one: frozenset[str] | None, two: frozenset[str] | None) -> frozenset[str] | None:
    best = max(one, two, key=_score)
    return best if _score(best)[0] else None


def _facts(node: Node) -> _Facts:  # noqa: PLR0911  # one return a kind of node
    match node:
        case Chars():
            return _Facts(_letters(node.chars), None)
        case PatternGroup():
            return _facts(node.part)
        case PatternSequence():
            return _sequence(node)
        case Choice():
            return _choice(node)
        case Repeat():
            return _repeat(node)
        case LookAround():
            if node.negated:
                return _EMPTY
            inside = _facts(node.part)
            return _Facts(frozenset({""}), _better(inside.needed, inside.whole))
        case _:
            # Anchors take nothing; of a back-reference nothing is known.
            return _EMPTY if isinstance(node, PatternAnchor) else _UNKNOWN


@functools.lru_cache(maxsize=20_000)
def _letters(chars: CharSet) -> frozenset[str] | None:
    if chars.size() > 2 * _SPREAD or _SIGMA in chars:
        return None
    lowered = {chr(code).lower() for low, high in chars.ranges for code in range(low, high + 1)}
    if not lowered or len(lowered) > _SPREAD or any(len(letter) != 1 for letter in lowered):
        return None
    return frozenset(lowered)


def _sequence(node: PatternSequence) -> _Facts:
    run: frozenset[str] = frozenset({""})
    needed: frozenset[str] | None = None
    unbroken = True
    for part in node.parts:
        facts = _facts(part)
        needed = _better(needed, facts.needed)
        longer = _crossed(run, facts.whole) if facts.whole is not None else None
        if longer is not None:
            run = longer
            continue
        needed = _better(needed, run)
        unbroken = False
        run = facts.whole if facts.whole is not None else frozenset({""})
    return _Facts(run if unbroken else None, _better(needed, run))


def _crossed(heads: frozenset[str], tails: frozenset[str]) -> frozenset[str] | None:
    if len(heads) * len(tails) > MAX_STRINGS:
        return None
    joined = frozenset(head + tail for head in heads for tail in tails)
    return joined if all(len(string) <= MAX_LENGTH for string in joined) else None


def _choice(node: Choice) -> _Facts:
    options = [_facts(option) for option in node.options]
    whole: frozenset[str] | None = None
    if all(option.whole is not None for option in options):
        whole = frozenset().union(*(option.whole or frozenset() for option in options))
        whole = whole if len(whole) <= MAX_STRINGS * 4 else None
    wanted = [_better(option.needed, option.whole) for option in options]
    if any(strings is None for strings in wanted):
        return _Facts(whole, None)
    needed = frozenset().union(*(strings or frozenset() for strings in wanted))
    return _Facts(whole, needed if len(needed) <= MAX_STRINGS * 4 else None)


def _repeat(node: Repeat) -> _Facts:
    inside = _facts(node.part)
    if (node.least, node.most) == (0, 1) and inside.whole is not None:
        return _Facts(inside.whole | {""}, None)
    if node.least == 0:
        return _UNKNOWN
    if (node.least, node.most) == (1, 1):
        return inside
    return _Facts(None, _better(inside.needed, inside.whole))
