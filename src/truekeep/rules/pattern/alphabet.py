"""One byte for every character: the alphabet the prefilter reads texts in.

ASCII stays as it is. The upper half stands for blocks of other characters, so that punctuation and letters
common in honest texts do not look like the rare ones that patterns hunt for. Several characters share a byte;
the prefilter may therefore let a text through that it need not, never the other way round.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

# First code point of a block, and how many bytes its characters are dealt out over.
_BLOCKS: tuple[tuple[int, int], ...] = (
    (0x80, 1), (0xA0, 1), (0xA1, 3), (0xC0, 8), (0x100, 4), (0x250, 2), (0x2B0, 1), (0x300, 1), (0x370, 6),
    (0x400, 10), (0x500, 1), (0x590, 1), (0x600, 3), (0x700, 1), (0xE00, 1), (0x1100, 1), (0x1680, 1), (0x1681, 1),
    (0x1AB0, 1), (0x1B00, 1), (0x1D00, 1), (0x1DC0, 1), (0x1E00, 1), (0x2000, 1), (0x200B, 5), (0x2010, 3),
    (0x2028, 1), (0x202A, 2), (0x202F, 1), (0x2030, 1), (0x205F, 1), (0x2060, 2), (0x2066, 2), (0x2070, 1),
    (0x20A0, 1), (0x20D0, 1), (0x2100, 1), (0x2190, 1), (0x2500, 1), (0x2600, 1), (0x27C0, 1), (0x2E00, 1),
    (0x3000, 1), (0x3001, 2), (0x3040, 2), (0x30A0, 2), (0x3100, 1), (0x3400, 1), (0x4E00, 8), (0xA000, 1),
    (0xAC00, 7), (0xD800, 1), (0xE000, 1), (0xF900, 1), (0xFB00, 1), (0xFE00, 1), (0xFE20, 1), (0xFE30, 1),
    (0xFEFF, 1), (0xFF00, 1), (0xFF21, 1), (0xFF5B, 1), (0xFFF0, 1), (0x10000, 1), (0x1D400, 1), (0x1D800, 1),
    (0x1F000, 1), (0x1F1E6, 1), (0x1F200, 1), (0x1FB00, 1), (0xE0000, 1), (0xE0100, 1),
)  # fmt: skip
_STARTS = [start for start, _ in _BLOCKS]
_BASES = [128 + sum(count for _, count in _BLOCKS[:index]) for index in range(len(_BLOCKS))]


def byte_of(code: int) -> int:
    """The byte that stands for ``code``."""
    if code < 128:
        return code
    at = bisect_right(_STARTS, code) - 1
    start, count = _BLOCKS[at]
    return _BASES[at] + (code - start) % count


def bytes_of(low: int, high: int) -> Iterator[int]:
    """The bytes that stand for any code point from ``low`` to ``high``."""
    yield from range(low, min(high, 127) + 1)
    low = max(low, 128)
    while low <= high:
        at = bisect_right(_STARTS, low) - 1
        start, count = _BLOCKS[at]
        end = min(high, _STARTS[at + 1] - 1 if at + 1 < len(_STARTS) else high)
        yield from (_BASES[at] + (code - start) % count for code in range(low, min(end, low + count - 1) + 1))
        low = end + 1


class _Table(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = value = chr(byte_of(code))
        return value


_BEYOND = re.compile(r"[^\x00-\x7f]+")
_TABLE = _Table({code: chr(code) for code in range(128)})


def to_bytes(text: str) -> bytes:
    """The text in this alphabet: exactly one byte a character, so offsets are the text's own."""
    if text.isascii():
        return text.encode("ascii")
    if len(_TABLE) > 50_000:
        _TABLE.clear()
    # Most of a text is ASCII: only the rest is looked up, character by character.
    return _BEYOND.sub(lambda run: run[0].translate(_TABLE), text).encode("latin-1")
