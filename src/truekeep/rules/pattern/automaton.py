"""Build the position automaton of a pattern: one bit a character, edges between bits, guards for places.

Every part of the tree becomes three things: the bits a match can begin with, the bits it can end with, and
whether it can be empty. Anchors and look-arounds take no characters, so they become *guards* on the edges that
pass through them (a guard is a set of assertions that must all hold at that place in the text). A set of live
states is then one integer, and a step over a character a handful of bit operations, whatever the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from truekeep.rules.pattern.charset import CharSet
from truekeep.rules.pattern.syntax import (
    EMPTY,
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

MAX_STATES = 40_000
"""Memory of one compiled pattern; nested repetitions multiply."""
MAX_GUARDS = 64
"""Combinations of anchors and look-arounds: each is a bit that every step tests."""
Guard = frozenset[int]
NO_GUARD: Guard = frozenset()
Masks = dict[Guard, int]


@dataclass(slots=True)
class Automaton:
    """A compiled pattern for one direction; ``memo`` holds the steps already worked out."""

    sets: list[tuple[CharSet, int]]
    shift: int
    edges: list[tuple[int, int, int]]
    first: list[tuple[int, int]]
    last: list[tuple[int, int]]
    empty: int
    guards: list[Guard]
    assertions: list[PatternAnchor | LookAround]
    memo: dict[int, tuple[int, bool]] = field(default_factory=dict)
    char_masks: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Part:
    first: Masks
    last: Masks
    empty: set[Guard]


def build(node: Node, *, backward: bool, groups: dict[int, Node]) -> Automaton:
    """The automaton of ``node``, to be run from left to right or, ``backward``, from right to left."""
    builder = _Builder(backward, groups)
    return builder.finish(builder.part(node))


class _Builder:
    def __init__(self, backward: bool, groups: dict[int, Node]) -> None:
        self._backward = backward
        self._groups = groups
        self._count = 0
        self._sets: dict[CharSet, int] = {}
        self._shift = 0
        self._edges: dict[tuple[Guard, int], int] = {}
        self._assertions: dict[PatternAnchor | LookAround, int] = {}
        self._inside: set[int] = set()

    def part(self, node: Node) -> _Part:  # noqa: PLR0911  # one return a kind of node
        match node:
            case Chars():
                return self._chain(node.chars, 1, 1)
            case PatternSequence():
                return self._sequence(node.parts[::-1] if self._backward else node.parts)
            case Choice():
                return self._choice(node)
            case Repeat():
                return self._repeat(node)
            case PatternGroup():
                return self.part(node.part)
            case BackReference():
                return self._reference(node)
            case PatternAnchor() | LookAround():
                number = self._assertions.setdefault(node, len(self._assertions))
                return _Part({}, {}, {frozenset({number})})

    def _chain(self, chars: CharSet, least: int, most: int) -> _Part:
        """``most`` states in a row that all take ``chars``; the match may leave from the ``least``-th on."""
        low, self._count = self._count, self._count + most
        if self._count > MAX_STATES:
            raise PatternError(f"pattern needs more than {MAX_STATES:,} states; make its repetitions smaller")
        every = ((1 << most) - 1) << low
        self._sets[chars] = self._sets.get(chars, 0) | every
        self._shift |= every & ~(1 << (low + most - 1))
        leaving = every & ~((1 << (low + max(least, 1) - 1)) - 1)
        return _Part({NO_GUARD: 1 << low}, {NO_GUARD: leaving}, {NO_GUARD} if least == 0 else set())

    def _sequence(self, parts: tuple[Node, ...]) -> _Part:
        whole = _Part({}, {}, {NO_GUARD})
        for node in parts:
            whole = self._joined(whole, self.part(node))
        return whole

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._connect(left.last, right.first)
        first, last = dict(left.first), dict(right.last)
        for guard in left.empty:
            _merge(first, right.first, guard)
        for guard in right.empty:
            _merge(last, left.last, guard)
        return _Part(first, last, _weakest({one | two for one in left.empty for two in right.empty}))

    def _connect(self, last: Masks, first: Masks) -> None:
        for guard, source in last.items():
            for other, target in first.items():
                combined = guard | other
                if not combined and target == source << 1 and source & (source - 1) == 0:
                    self._shift |= source
                else:
                    key = (combined, target)
                    self._edges[key] = self._edges.get(key, 0) | source

    def _choice(self, node: Choice) -> _Part:
        whole = _Part({}, {}, set())
        for option in node.options:
            part = self.part(option)
            _merge(whole.first, part.first, NO_GUARD)
            _merge(whole.last, part.last, NO_GUARD)
            whole.empty |= part.empty
        whole.empty = _weakest(whole.empty)
        return whole

    def _repeat(self, node: Repeat) -> _Part:
        if node.most == 0:
            return self.part(EMPTY)
        if isinstance(node.part, Chars):
            part = self._chain(node.part.chars, node.least, max(node.least, 1) if node.most < 0 else node.most)
            if node.most == INFINITY:
                top = 1 << (self._count - 1)
                self._connect({NO_GUARD: top}, {NO_GUARD: top})
            return part
        return self._copies(node)

    def _copies(self, node: Repeat) -> _Part:
        parts = [self.part(node.part)]
        if parts[0].empty and NO_GUARD not in parts[0].empty:
            return self._guarded_copies(node, parts[0])
        for _ in range((max(node.least, 1) if node.most == INFINITY else node.most) - 1):
            parts.append(self.part(node.part))
            self._connect(parts[-2].last, parts[-1].first)
        if node.most == INFINITY:
            self._connect(parts[-1].last, parts[-1].first)
        # If the part may be empty, fewer copies than asked for can hold the text.
        enough = 1 if parts[0].empty else node.least
        last: Masks = {}
        for part in parts[max(enough, 1) - 1 :]:
            _merge(last, part.last, NO_GUARD)
        return _Part(dict(parts[0].first), last, {NO_GUARD} if parts[0].empty or not node.least else set())

    def _guarded_copies(self, node: Repeat, one: _Part) -> _Part:
        """Copies of a part that is empty only at certain places: each may be passed over, under its guard."""
        if node.most == INFINITY:
            self._connect(one.last, one.first)
        star = _Part(one.first, one.last, {NO_GUARD})
        rest = node.most - node.least if node.most != INFINITY else 0
        whole = star if node.most == INFINITY or not node.least else one
        for index in range(node.least + rest - (0 if node.most == INFINITY else 1)):
            part = self.part(node.part)
            optional = node.most != INFINITY and index + 1 >= node.least
            whole = self._joined(whole, _Part(part.first, part.last, {NO_GUARD}) if optional else part)
        return whole

    def _reference(self, node: BackReference) -> _Part:
        """Whatever the group could match, or nothing: more than the reference allows, never less."""
        target = self._groups.get(node.group)
        if target is None or node.group in self._inside:
            return self.part(EMPTY)
        self._inside.add(node.group)
        part = self.part(target)
        self._inside.discard(node.group)
        return _Part(part.first, part.last, {NO_GUARD})

    def finish(self, part: _Part) -> Automaton:
        guards: dict[Guard, int] = {NO_GUARD: 0}
        for guard in [*(guard for guard, _ in self._edges), *part.first, *part.last, *part.empty]:
            guards.setdefault(guard, len(guards))
        if len(guards) > MAX_GUARDS:
            raise PatternError("pattern has too many combinations of anchors and look-arounds")
        empty = 0
        for guard in part.empty:
            empty |= 1 << guards[guard]
        return Automaton(
            sets=list(self._sets.items()),
            shift=self._shift,
            edges=[(1 << guards[guard], source, target) for (guard, target), source in self._edges.items()],
            first=[(1 << guards[guard], mask) for guard, mask in part.first.items()],
            last=[(1 << guards[guard], mask) for guard, mask in part.last.items()],
            empty=empty,
            guards=list(guards),
            assertions=list(self._assertions),
        )


def _merge(into: Masks, masks: Masks, guard: Guard) -> None:
    for own, mask in masks.items():
        combined = own | guard
        into[combined] = into.get(combined, 0) | mask


def _weakest(guards: set[Guard]) -> set[Guard]:
    """Only the guards that no other one makes superfluous."""
    return {guard for guard in guards if not any(other < guard for other in guards)}
