"""Read a long text passage by passage, with the same answers as if it were read in one piece.

Looking for a pattern costs in proportion to the text that is looked at. What decides about one match of nearly every
pattern is a few hundred characters, so a long text is cut into passages, each with a margin on both sides that holds
all that can decide about a match which starts in the passage. A pattern without such a bound sees the whole text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from truekeep.rules.pattern import FARTHEST, Pattern

_LENGTH = 4_096
"""Characters that a slow pattern sees at a time, so that its cost grows with the text and not faster."""
_MARGIN = FARTHEST + 2
_EARLIER = 8
"""Places before a passage from which a match that reaches into it is looked for, the nearest."""


@dataclass(frozen=True, slots=True)
class RulePassage:
    """``text`` is from ``offset`` of the whole; matches that start from ``first`` up to ``end`` are its own."""

    text: str
    offset: int = 0
    first: int = 0
    end: int | None = None

    def find(self, pattern: Pattern, patience: float, *, longest: bool) -> tuple[int, int] | None:
        """The leftmost match of this passage, in the coordinates of the whole text."""
        span = pattern.find(self.text, patience, longest=longest, first=self.first)
        if span is None or (self.end is not None and span[0] >= self.end):
            return None
        return span[0] + self.offset, span[1] + self.offset


def passages(text: str) -> list[RulePassage]:
    """The whole of a short text; a long one in parts that overlap by what one match can need."""
    if len(text) <= _LENGTH + 2 * _MARGIN:
        return [RulePassage(text)]
    return [_passage(text, start, start + _LENGTH) for start in range(0, len(text), _LENGTH)]


def _passage(text: str, start: int, end: int) -> RulePassage:
    low, high = max(0, start - _MARGIN), end + _MARGIN
    # A match that starts where the text ends belongs to the last passage.
    return RulePassage(text[low:high], low, start - low, end - low if end < len(text) else None)


def places(pattern: Pattern, text: str, where: tuple[int, int]) -> Iterator[int]:
    """Where in ``text`` matches of ``pattern`` over ``where`` start; of those that start before it, the nearest."""
    low, high = where
    if pattern.is_far or len(text) <= _LENGTH:
        part = RulePassage(text, 0, 0, high)
    else:
        part = _passage(text, max(0, low - _MARGIN), high)
    starts = pattern.starts(part.text)
    within = range(part.first, len(part.text) + 1)
    yield from (place + part.offset for place in within if starts[place] and low <= place + part.offset < high)
    earlier = [place for place in within if starts[place] and place + part.offset < low][-_EARLIER:]
    yield from (place + part.offset for place in earlier if pattern.end_from(part.text, place) + part.offset > low)
