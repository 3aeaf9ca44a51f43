"""Which sentences of a text ask: what is asked is not said to be so."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

_MARKS = "?\uff1f\u061f"
# The question mark inside a URL asks nothing, and the point inside a number ends nothing.
_ASKS = re.compile(rf"[{_MARKS}](?!\w)|\u00bf")
_ENDS = re.compile(rf"[.!\u2026\u3002\uff01{_MARKS}](?!\w)|\n")


def asks(text: str) -> bool:
    """Whether anything in the text is a question."""
    return _ASKS.search(text) is not None


def asked_at(text: str) -> Callable[[int], bool]:
    """A test of whether the sentence around a place in the text is a question."""
    if not asks(text):
        return lambda _: False
    ends = [match.start() for match in _ENDS.finditer(text)]

    def is_asked(place: int) -> bool:
        after = bisect_left(ends, place)
        return after < len(ends) and text[ends[after]] in _MARKS

    return is_asked
