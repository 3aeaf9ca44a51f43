"""What surrounds a match: Markdown code that some rules spare, and the language some conditions are for."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S{1,200}")
_PATH = re.compile(r"\w/\w|\w\.[A-Za-z]{1,4}\Z")
_INLINE = re.compile(r"`[^`\n]+`")
_TABLE_QUOTE = re.compile(r'"[^"\n]+"')
_SIMPLIFIED = frozenset("国学时这们说让请运动来个万发关现实见义龙东车书")
_TRADITIONAL = frozenset("國學時這們說讓請運動來個萬發關現實見義龍東車書")
_SPANISH = frozenset("ñÑ¿¡áéíóúüÁÉÍÓÚÜ")


def code_mask(text: str) -> bytearray:
    """1 for every character inside fenced or inline code, or quoted in a table row."""
    mask = bytearray(len(text) + 1)
    at, fence = 0, -1
    for line in text.split("\n"):
        end = at + len(line) + 1
        if line.lstrip().startswith("```"):
            if fence < 0:
                fence = at
            else:
                _mark(mask, fence, end)
                fence = -1
        elif line.startswith("|"):
            for quote in _TABLE_QUOTE.finditer(line):
                _mark(mask, at + quote.start(), at + quote.end())
        at = end
    if fence >= 0:
        _mark(mask, fence, len(text))
    for code in _INLINE.finditer(text):
        _mark(mask, code.start(), code.end())
    return mask


def is_in_path(text: str, place: int) -> bool:
    """Whether ``place`` is inside a path or file name: one word with a slash or an extension."""
    start = max(text.rfind(blank, 0, place) for blank in " \t\n") + 1
    word = _WORD.match(text, start)
    return word is not None and place < word.end() and _PATH.search(word.group()) is not None


def _mark(mask: bytearray, start: int, end: int) -> None:
    end = min(end, len(mask))
    mask[start:end] = b"\x01" * (end - start)


def language_of(text: str) -> str:
    """The language a text is in, as far as its script tells: ar, ja, zh-Hans, zh-Hant, es or en."""
    han = kana = False
    for char in text:
        code = ord(char)
        if 0x600 <= code <= 0x6FF or 0x750 <= code <= 0x77F or 0xFB50 <= code <= 0xFDFF or 0xFE70 <= code <= 0xFEFF:
            return "ar"
        kana = kana or 0x3040 <= code <= 0x30FF
        han = han or 0x4E00 <= code <= 0x9FFF
    if kana:
        return "ja"
    letters = set(text)
    if han:
        return "zh-Hans" if letters & _SIMPLIFIED and not letters & _TRADITIONAL else "zh-Hant"
    return "es" if letters & _SPANISH else "en"


def speaks(condition_language: str, text: str) -> bool:
    """Whether a condition for ``condition_language`` applies to ``text``; the two Chinese scripts share theirs."""
    if not condition_language:
        return True
    found = language_of(text)
    return condition_language == found or (condition_language.startswith("zh-") and found.startswith("zh-"))
