"""Match a pattern in time linear in the text, whatever the pattern: no backtracking, no clock.

Look-arounds are worked out for every place of the text beforehand, each by its own automaton in one pass
(ahead from right to left, behind from left to right), after the construction of Barrière and Pit-Claudel,
"Linear Matching of JavaScript Regular Expressions" (PLDI 2024). Back-references are not regular and are
widened to what their group could match.
"""

from __future__ import annotations

from collections.abc import Sequence as Row

from truekeep.rules.pattern.alphabet import bytes_of, to_bytes
from truekeep.rules.pattern.automaton import Automaton, build
from truekeep.rules.pattern.charset import LINE_ENDS, WORD, CharSet
from truekeep.rules.pattern.syntax import LookAround, Node, PatternAnchor
from truekeep.text.view import GIVE_WAY

_MEMO_LIMIT = 4_096
"""Sets of states that are remembered; a text can be made to visit ever new ones."""
_CHAR_LIMIT = 4_096
"""Characters whose step is remembered; a text can hold more than a million different ones."""
_PIECE = 4_096
"""Places that are gone through in about a millisecond, before somebody else may go first."""


class LinearMatcher:
    """One pattern's automata in both directions, built when first needed."""

    def __init__(self, node: Node, groups: dict[int, Node]) -> None:
        self._node = node
        self._groups = groups
        self._built: dict[tuple[int, bool], Automaton] = {}

    def leftmost(self, text: str, first: int = 0) -> int | None:
        """The first place, ``first`` or later, where a match starts, or ``None``."""
        place = self._sweep(self._node, text, backward=True).find(1, first)
        return place if place >= 0 else None

    def starts(self, text: str) -> bytearray:
        """For every place of ``text``, 1 if a match starts there."""
        return self._sweep(self._node, text, backward=True)

    def longest(self, text: str, start: int) -> int | None:
        """The end of the longest match that starts at ``start``, or ``None``."""
        automaton = self._automaton(self._node, backward=False)
        truths = self._truths(automaton, text)
        best: int | None = None
        states = -1
        for place in range(start, len(text) + 1):
            truth = truths[place]
            after, accepts = _begin(automaton, truth) if states < 0 else _advance(automaton, states, truth)
            if accepts:
                best = place
            if place == len(text) or not after:
                break
            states = after & _mask(automaton, text[place])
            if not states:
                break
        return best

    def _automaton(self, node: Node, *, backward: bool) -> Automaton:
        # By identity: hashing a tree costs more than running it. The tree outlives this table.
        key = (id(node), backward)
        if key not in self._built:
            self._built[key] = build(node, backward=backward, groups=self._groups)
        return self._built[key]

    def _sweep(self, node: Node, text: str, *, backward: bool) -> bytearray:
        """Run over the whole text; mark every place where a match can begin (backward) or end (forward)."""
        automaton = self._automaton(node, backward=backward)
        truths = self._truths(automaton, text)
        accepted = bytearray(len(text) + 1)
        memo, masks, states = automaton.memo, automaton.char_masks, 0
        places = range(len(text), -1, -1) if backward else range(len(text) + 1)
        last, offset = (0, -1) if backward else (len(text), 0)
        give_way = GIVE_WAY.get()
        for piece in (places[start : start + _PIECE] for start in range(0, len(places), _PIECE)):
            give_way()
            for place in piece:
                truth = truths[place]
                key = states << 64 | truth
                step = memo.get(key)
                if step is None:
                    step = _remember(automaton, key, states, truth)
                if step[1]:
                    accepted[place] = 1
                if place != last:
                    char = text[place + offset]
                    mask = masks.get(char)
                    states = step[0] & (_mask(automaton, char) if mask is None else mask)
        return accepted

    def _truths(self, automaton: Automaton, text: str) -> Row[int]:
        """For every place, which guards hold there, one bit each; the lowest, "no guard", always does."""
        places = len(text) + 1
        if not automaton.assertions:
            return b"\x01" * places
        tables = [int.from_bytes(self._table(assertion, text), "little") for assertion in automaton.assertions]
        holding = [_all_of(tables, guard, places) for guard in automaton.guards]
        if len(holding) <= 8:
            # Tables are bytes of 0 and 1, so eight of them fit side by side in the bits of one.
            return sum(table << bit for bit, table in enumerate(holding)).to_bytes(places, "little")
        rows = [table.to_bytes(places, "little") for table in holding]
        return [sum(row[place] << bit for bit, row in enumerate(rows)) for place in range(places)]

    def _table(self, assertion: PatternAnchor | LookAround, text: str) -> bytes:
        if isinstance(assertion, PatternAnchor):
            return anchor_table(assertion, text)
        found = self._sweep(assertion.part, text, backward=not assertion.behind)
        return bytes(found.translate(_FLIPPED) if assertion.negated else found)


def _all_of(tables: list[int], guard: frozenset[int], places: int) -> int:
    result = int.from_bytes(b"\x01" * places, "little")
    for number in guard:
        result &= tables[number]
    return result


def _begin(automaton: Automaton, truth: int) -> tuple[int, bool]:
    after = 0
    for guard, mask in automaton.first:
        if truth & guard:
            after |= mask
    return after, bool(automaton.empty & truth)


def _advance(automaton: Automaton, states: int, truth: int) -> tuple[int, bool]:
    """The states that may take the next character, and whether a match ends here."""
    after = (states & automaton.shift) << 1
    for guard, source, target in automaton.edges:
        if truth & guard and states & source:
            after |= target
    return after, any(truth & guard and states & mask for guard, mask in automaton.last)


def _remember(automaton: Automaton, key: int, states: int, truth: int) -> tuple[int, bool]:
    """The unanchored step from ``states``: go on, or begin anew at this place."""
    after, ends = _advance(automaton, states, truth)
    begun, empty = _begin(automaton, truth)
    step = (after | begun, ends or empty)
    if len(automaton.memo) >= _MEMO_LIMIT:
        automaton.memo.clear()
    automaton.memo[key] = step
    return step


def _mask(automaton: Automaton, char: str) -> int:
    mask = automaton.char_masks.get(char)
    if mask is None:
        code = ord(char)
        mask = 0
        for chars, states in automaton.sets:
            if code in chars:
                mask |= states
        if len(automaton.char_masks) >= _CHAR_LIMIT:
            automaton.char_masks.clear()
        automaton.char_masks[char] = mask
    return mask


def anchor_table(anchor: PatternAnchor, text: str) -> bytes:
    """For every place of ``text``, 1 if ``anchor`` holds there."""
    size = len(text)
    if anchor.kind in ("start", "end"):
        table = bytearray(size + 1)
        table[0 if anchor.kind == "start" else size] = 1
        return bytes(table)
    data = to_bytes(text)
    if anchor.kind in ("line_start", "line_end"):
        ends = data.translate(_LINE_ENDS)
        return b"\x01" + ends if anchor.kind == "line_start" else ends + b"\x01"
    words = int.from_bytes(data.translate(_WORDS), "little")
    edges = (words ^ words << 8).to_bytes(size + 1, "little")
    return edges if anchor.kind == "word" else edges.translate(_FLIPPED)


def _members(chars: CharSet) -> bytes:
    """A translation table: 1 for the bytes of the alphabet that stand for ``chars``."""
    held = {byte for low, high in chars.ranges for byte in bytes_of(low, high)}
    return bytes(int(byte in held) for byte in range(256))


# The two line separators beyond ASCII have a byte of the alphabet to themselves; words are ASCII anyway.
_LINE_ENDS, _WORDS = _members(LINE_ENDS), _members(WORD)
_FLIPPED = bytes([1, 0]) + bytes(254)
