"""Excerpts that show where a rule matched without repeating secrets or carrying instructions onward."""

from __future__ import annotations

import re

_KEEP = 12
_RUN = re.compile(r"[^\s]{1,200}")


def excerpt(text: str, span: tuple[int, int]) -> str:
    """A short, printable hint at ``text[span]``: the first letter of each word and its length, at most a dozen."""
    start, end = span
    words = _RUN.findall(text[start : min(end, start + 400)])
    shown = [_hint(word) for word in words[:_KEEP]]
    more = " …" if len(words) > _KEEP or end - start > 400 else ""
    return " ".join(shown) + more


def _hint(word: str) -> str:
    first = word[0] if word[0].isascii() and word[0].isprintable() else "?"
    return first if len(word) == 1 else f"{first}{'·' * min(len(word) - 1, 11)}"
