"""Windows: the parts of a long text that get vectors of their own, so that one fact among many can be found.

A message that rambles over five things is near to none of them as a whole. Its parts are; the best speaks for it.
"""

from __future__ import annotations

import re

Span = tuple[int, int]

_BREAK = re.compile(
    r"(?<=[.!?\u2026;:,])\s+|(?<=[\u3002\uff01\uff1f\uff1b\uff0c\u3001\uff1a])\s*|\n+"
    r"|\s+[-\u2013\u2014]\s+|\s+(?=[(\[])|(?<=[)\]])\s+"
)
_SHORTEST = 12
"""Characters of a part that stands by itself; a shorter one says little without what follows."""
_WHOLE = 40
"""Up to so many characters a text is one window: it hardly says more than one thing."""
MOST_WINDOWS = 24
"""Windows of one text, the whole one included: what the search scans and the card holds grows with them."""


def windows(text: str) -> list[Span]:
    """The spans of a text that are embedded: first the whole, then its parts, if there are several."""
    whole = (0, len(text))
    if _weight(text) <= _WHOLE:
        return [whole]
    parts = _parts(text)
    while len(parts) >= MOST_WINDOWS:
        parts = [(left[0], right[1]) for left, right in zip(parts[::2], [*parts[1::2], parts[-1]], strict=False)]
    return [whole, *parts] if len(parts) > 1 else [whole]


def _parts(text: str) -> list[Span]:
    found: list[Span] = []
    start = 0
    for end, following in [*((match.start(), match.end()) for match in _BREAK.finditer(text)), (len(text), len(text))]:
        if _weight(text[start:end]) >= _SHORTEST:
            found.append((start, end))
            start = following
    if start < len(text) and found:
        found[-1] = (found[-1][0], len(text))
    return found


def _weight(part: str) -> int:
    """How much there is to read: a sign of a script without spaces says as much as three letters."""
    return len(part) + 2 * sum("\u3040" <= sign <= "\u9fff" or "\uac00" <= sign <= "\ud7af" for sign in part)
