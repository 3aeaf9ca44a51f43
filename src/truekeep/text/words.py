"""Words and sentences: a text in the forms in which they are looked for.

Readings look for runs of letters, screens for words and the marks between them, the search for folded words. (Values
are read from typed tokens, which are in ``tokens``.)

Of sentences: where they end, which of them a message says itself, and which of them ask. A careful reader knows
abbreviations, ordinals and quotations (``own_sentences``). The screens cut wherever a statement could end
(``STATEMENT_END``), because whoever hides an order writes no better than they must.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

_RUN = re.compile(r"[^\W\d_]+")
_ASCII_RUN = re.compile(r"[a-z]+")
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"([^\W_]+(?:['\-][^\W_]+)*|[.!?;:,\n()\[\]<>\"|{}\u2013\u2014-])")
_ASCII_PART = re.compile(r"([a-z0-9]+(?:['\-][a-z0-9]+)*|[.!?;:,\n()\[\]<>\"|{}-])")
_NEGATED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
MAX_WORD = 64
"""Longer runs are cut: they are keys or noise, and their head tells them apart."""


@lru_cache(maxsize=4)
def letter_runs(text: str) -> tuple[str, ...]:
    """Every run of letters in order, lower case; the last few texts are kept, as several readings ask for the same."""
    lower = text.lower()
    # A plain class is looked up in a table; the general one asks the character database.
    return tuple((_ASCII_RUN if lower.isascii() else _RUN).findall(lower))


class WordRow:
    """The words and marks of a text, lower case, and where they stand in it."""

    __slots__ = ("_places", "words")

    def __init__(self, text: str) -> None:
        # What is split off stands between what splits it; lengths add up to places without a match object each.
        lower = text.lower()
        parts = (_ASCII_PART if lower.isascii() else _PART).split(lower)
        self.words: list[str] = parts[1::2]
        self._places = list(accumulate(map(len, parts)))

    def start(self, index: int) -> int:
        """Where that word begins."""
        return self._places[2 * index]

    def end(self, index: int) -> int:
        """Where that word ends."""
        return self._places[2 * index + 1]


def words(text: str) -> list[str]:
    """The words of a text in order, folded: case, width, accents and apostrophes do not matter."""
    expanded = _NEGATED.sub(" not", text)
    if not expanded.isascii():
        expanded = _without_marks(expanded)
        expanded = _UNSPACED.sub(lambda run: " " + _pairs(run[0]) + " ", expanded)
    return [word[:MAX_WORD] for word in _WORD.findall(expanded.casefold())]


def _without_marks(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    # One character may stand for eighteen; no honest text doubles, and what is beyond that is not worth indexing.
    bare = "".join(letter for letter in decomposed[: 3 * len(text) + 64] if not unicodedata.combining(letter))
    # Hangul comes apart under NFKD and has to be put together again.
    return unicodedata.normalize("NFKC", bare)


def _pairs(run: str) -> str:
    """Scripts without spaces are indexed by overlapping pairs of letters."""
    return " ".join(run[place : place + 2] for place in range(max(1, len(run) - 1)))


_MARKS = "?\uff1f\u061f"
# The question mark inside a URL asks nothing, and the point inside a number ends nothing.
_ASKS = re.compile(rf"[{_MARKS}](?!\w)|\u00bf")


def asks(text: str) -> bool:
    """Whether anything in the text is a question."""
    return _ASKS.search(text) is not None


STATEMENT_END = re.compile(r"[.!?;\n]+(?=\s|\Z|[\u3000-\uffff])|\n")
"""Where statements may end: behind a full stop, a semicolon or a line's end."""

Span = tuple[int, int]

_SAID_END = re.compile("[.!?\u2026][\"'\u201d\u00bb)\\]]*(?:\\s+|$)|(?<=[\u3002\uff01\uff1f])\\s*|\\n+")
_TITLE = re.compile(r"(?<!\w)(?:dr|mr|mrs|ms|prof|mudr|mgr|ing|sr|sra|mme|nr|z\. ?b|e\.g|i\.e)\.\Z", re.I)
_DAY = re.compile(r"(?<![\w.])\d{1,2}\.\Z")
_DATED = re.compile(
    "(?:jan|feb|m\u00e4r|mar|apr|ma|m\u00e1|jun|j\u00fan|jul|j\u00fal|aug|sep|okt|oct|nov|dez|dec)[^\\W\\d_]*|\\d", re.I
)


def _is_within(text: str, match: re.Match[str]) -> bool:
    """Whether a full stop belongs to a title or a day: "Dr. Huber", "12. Mai". Short words alone end what is typed."""
    before = text[max(match.start() - 8, 0) : match.start() + 1]
    is_day = bool(_DAY.search(before) and _DATED.match(text, match.end()))
    return "\n" not in match[0] and match.end() < len(text) and (is_day or bool(_TITLE.search(before)))


def said_sentences(text: str) -> list[Span]:
    """Where the sentences of a message stand in it, whole and with what ends them: nothing of it is left out."""
    spans, start = [], 0
    for match in _SAID_END.finditer(text):
        if match.end() > start and not _is_within(text, match):
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
