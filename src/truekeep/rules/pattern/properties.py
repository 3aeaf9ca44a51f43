"""The sets behind ``\\p{…}``: general categories from the Unicode database, and the scripts that rules ask for."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable

from truekeep.rules.pattern import charset
from truekeep.rules.pattern.charset import CharSet


@functools.cache
def property_set(name: str) -> CharSet | None:
    """The code points of a general category or of a common script or property; ``None`` when unknown."""
    if name in ("Any",):
        return charset.EVERYTHING
    prefix = _LONG_CATEGORIES.get(name, name)
    codes = range(charset.MAX_CODE_POINT + 1)
    if re.fullmatch(r"[CLMNPSZ][a-z]?", prefix):
        return _runs(code for code in codes if unicodedata.category(chr(code)).startswith(prefix))
    if name in _SCRIPTS:
        return CharSet(_SCRIPTS[name])
    return None


def _runs(codes: Iterable[int]) -> CharSet:
    return CharSet((code, code) for code in codes)


_LONG_CATEGORIES = {
    "Letter": "L",
    "Lowercase_Letter": "Ll",
    "Uppercase_Letter": "Lu",
    "Mark": "M",
    "Number": "N",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Format": "Cf",
    "Alphabetic": "L",
}
_SCRIPTS: dict[str, list[tuple[int, int]]] = {
    "Han": [
        (0x2E80, 0x2FD5),
        (0x3005, 0x3007),
        (0x3021, 0x3029),
        (0x3400, 0x4DBF),
        (0x4E00, 0x9FFF),
        (0xF900, 0xFAD9),
        (0x20000, 0x323AF),
    ],
    "Hiragana": [(0x3041, 0x3096), (0x309D, 0x309F)],
    "Katakana": [(0x30A1, 0x30FA), (0x30FD, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D)],
    "Hangul": [(0x1100, 0x11FF), (0x3131, 0x318E), (0xAC00, 0xD7A3)],
    "Cyrillic": [(0x400, 0x52F), (0x1C80, 0x1C8A), (0x2DE0, 0x2DFF), (0xA640, 0xA69F)],
    "Greek": [(0x370, 0x373), (0x375, 0x377), (0x37A, 0x37D), (0x37F, 0x3FF), (0x1F00, 0x1FFE)],
    "Arabic": [(0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)],
    "Hebrew": [(0x591, 0x5F4), (0xFB1D, 0xFB4F)],
    "Latin": [
        (0x41, 0x5A),
        (0x61, 0x7A),
        (0xAA, 0xAA),
        (0xBA, 0xBA),
        (0xC0, 0x24F),
        (0x1E00, 0x1EFF),
        (0x2C60, 0x2C7F),
        (0xA722, 0xA7FF),
        (0xFF21, 0xFF3A),
        (0xFF41, 0xFF5A),
    ],
    "Emoji": [(0x203C, 0x203C), (0x2049, 0x2049), (0x2600, 0x27BF), (0x1F000, 0x1FAFF)],
    "Extended_Pictographic": [(0x203C, 0x203C), (0x2049, 0x2049), (0x2600, 0x27BF), (0x1F000, 0x1FAFF)],
}
