"""Sets of code points as sorted ranges, with the classes and the case folding of JavaScript."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Iterable

MAX_CODE_POINT = 0x10FFFF
"""The last character of Unicode."""
Range = tuple[int, int]


class CharSet:
    """An immutable set of code points."""

    __slots__ = ("_hash", "_starts", "ranges")

    def __init__(self, ranges: Iterable[Range]) -> None:
        self.ranges: tuple[Range, ...] = _merged(ranges)
        self._starts = [low for low, _ in self.ranges]
        self._hash = hash(self.ranges)

    def __contains__(self, code: int) -> bool:
        at = bisect_right(self._starts, code) - 1
        return at >= 0 and code <= self.ranges[at][1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CharSet) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet((*self.ranges, *other.ranges))

    def __invert__(self) -> CharSet:
        gaps, at = [], 0
        for low, high in self.ranges:
            if low > at:
                gaps.append((at, low - 1))
            at = high + 1
        if at <= MAX_CODE_POINT:
            gaps.append((at, MAX_CODE_POINT))
        return CharSet(gaps)

    def overlaps(self, other: CharSet) -> bool:
        """Whether the two sets share a code point."""
        mine, theirs = iter(self.ranges), iter(other.ranges)
        one, two = next(mine, None), next(theirs, None)
        while one and two:
            if one[1] < two[0]:
                one = next(mine, None)
            elif two[1] < one[0]:
                two = next(theirs, None)
            else:
                return True
        return False

    def size(self) -> int:
        """How many code points are in the set."""
        return sum(high - low + 1 for low, high in self.ranges)

    def single(self) -> int | None:
        """The only member, if there is exactly one."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return self.ranges[0][0]
        return None

    def folded(self, *, unicode: bool) -> CharSet:
        """The set with every case variant of its members, by JavaScript's rules with or without the u flag."""
        return _folded(self, unicode)


def _merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    result: list[list[int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            result[-1][1] = max(result[-1][1], high)
        else:
            result.append([low, high])
    return tuple((low, high) for low, high in result)


def of(*members: str) -> CharSet:
    """The set of single characters and ``a-z`` style ranges given as one- or three-character strings."""
    return CharSet((ord(member[0]), ord(member[-1])) for member in members)


EVERYTHING = CharSet([(0, MAX_CODE_POINT)])
NOTHING = CharSet([])
LINE_ENDS = of("\n", "\r", "\u2028", "\u2029")
DOT = ~LINE_ENDS
DIGIT = of("0-9")
WORD = of("0-9", "A-Z", "a-z", "_")
# ECMAScript WhiteSpace and LineTerminator: wider than ASCII, and with the byte order mark.
SPACE = CharSet(
    [
        (9, 13),
        (32, 32),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)


@functools.cache
def _case_classes(unicode: bool) -> dict[int, tuple[int, ...]]:
    """Every code point that has case variants, with all of them."""
    groups: dict[int, list[int]] = {}
    for code in range(0x1E944):
        if 0xD800 <= code <= 0xDFFF:
            continue
        groups.setdefault(_canonical(code, unicode), []).append(code)
    return {code: tuple(group) for group in groups.values() if len(group) > 1 for code in group}


def _canonical(code: int, unicode: bool) -> int:
    """ECMAScript's Canonicalize: simple folding with the u flag, one-to-one upper-casing without it."""
    text = chr(code)
    changed = text.casefold() if unicode else text.upper()
    if len(changed) != 1:
        changed = text.lower() if unicode and len(text.lower()) == 1 else text
    # Without u a non-ASCII letter never becomes an ASCII one, so the long s does not match s.
    if not unicode and code >= 128 and ord(changed) < 128:
        return code
    return ord(changed)


@functools.lru_cache(maxsize=20_000)
def _folded(chars: CharSet, unicode: bool) -> CharSet:
    if chars.ranges and chars.ranges[-1][1] < 128 and not unicode:
        return _folded_ascii(chars)
    classes = _case_classes(unicode)
    extra: list[Range] = list(chars.ranges)
    for low, high in chars.ranges:
        codes = range(low, high + 1) if high - low < len(classes) else (c for c in classes if low <= c <= high)
        for code in codes:
            extra.extend((variant, variant) for variant in classes.get(code, ()))
    return CharSet(extra)


def _folded_ascii(chars: CharSet) -> CharSet:
    extra = list(chars.ranges)
    for low, high in chars.ranges:
        for first, last, shift in ((65, 90, 32), (97, 122, -32)):
            start, end = max(low, first), min(high, last)
            if start <= end:
                extra.append((start + shift, end + shift))
    return CharSet(extra)
