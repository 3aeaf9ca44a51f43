"""Sentences: where they end, which of them a message says itself, and which of them ask.

A careful reader knows abbreviations, ordinals and quotations (``own_sentences``). The screens cut wherever a statement
could end (``STATEMENT_END``), because whoever hides an order writes no better than they must.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

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


STATEMENT_END = re.compile(r"[.!?;\n]+(?=\s|\Z|[\u3000-\uffff])|\n")
"""Where statements may end: behind a full stop, a semicolon or a line's end."""

Span = tuple[int, int]

_SAID_END = re.compile("[.!?\u2026][\"'\u201d\u00bb)\\]]*(?:\\s+|$)|(?<=[\u3002\uff01\uff1f])\\s*|\\n+")


def said_sentences(text: str) -> list[Span]:
    """Where the sentences of a message stand in it, whole and with what ends them: nothing of it is left out."""
    spans, start = [], 0
    for match in _SAID_END.finditer(text):
        if match.end() > start:
            spans.append((start, match.end()))
            start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return [span for span in spans if text[slice(*span)].strip()]


_HEADER = re.compile(r"(?:from|to|cc|subject|date|sent|reply-to|von|an|betreff|de|objet|asunto|od|predmet):\s", re.I)
_FORWARDED = re.compile(
    r"-{2,} ?(?:original|forwarded) message|begin forwarded message|\bon .{5,80} wrote:$|am .{5,80} schrieb", re.I
)
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_QUOTED_LINE = re.compile(r"\s*[>|]")
_BULLET = re.compile(r"\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_QUOTATION = re.compile(
    r'"[^"\n]{2,400}"|“[^”\n]{2,400}”|„[^“”\n]{2,400}[“”]|«[^»\n]{2,400}»|\u2018[^\u2019\n]{2,400}\u2019(?!\w)'
    r"|(?<![\w])'[^'\n]{2,400}'(?!\w)|「[^」\n]{2,400}」|`[^`\n]{1,400}`"
)
_END = re.compile(r"[.!?…]+[\"'”\u2019)\]»]*(?=\s|$)|[。\uff01\uff1f]+[”\u2019」]*|\n+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|prof|st|no|nr|approx|z\.\s?b|d\.\s?h|u\.\s?a|bzw|ca|usw|p\.\s?ej|sr|sra|"
    r"m|mme|tzv|napr|např|tj|str|[^\W\d_])\.$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:^|\D)\d{1,2}\.$")


def own_sentences(text: str) -> Iterator[Span]:
    """The spans of the sentences a message says itself, in order."""
    for start, end in _own_lines(text):
        yield from _sentences(text, start, end)


def masked(text: str) -> str:
    """The text with quotations blanked, character for character: what is quoted is not said."""
    return _QUOTATION.sub(lambda match: "\u00a6" * len(match[0]), text)


def _own_lines(text: str) -> Iterator[Span]:
    at, fenced, headers = 0, False, 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if _FENCE.match(line):
            fenced = not fenced
            continue
        headers += bool(_HEADER.match(line))
        if headers > 1 or _FORWARDED.search(line[:200]):
            return
        if fenced or _QUOTED_LINE.match(line) or _HEADER.match(line):
            continue
        bullet = _BULLET.match(line)
        yield start + (bullet.end() if bullet else 0), at


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    covered = masked(text[start:end])
    done = 0
    for match in _END.finditer(covered):
        if match[0] == "." and _goes_on(covered, match.start()):
            continue
        yield from _trimmed(text, start + done, start + match.end())
        done = match.end()
    yield from _trimmed(text, start + done, end)


def _goes_on(text: str, at: int) -> bool:
    """Whether a full stop belongs to an abbreviation, an initial or an ordinal."""
    before, after = text[max(0, at - 12) : at + 1], text[at + 1 : at + 3].strip()
    return bool(_ABBREVIATION.search(before)) or (bool(_ORDINAL.search(before)) and not after[:1].isupper())


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    if right > left:
        yield start + left, start + right
