"""Stored text for a person's eyes: escaped, with what nobody would see made visible and what matched marked.

The one place where markup is made in code. Every character of the text goes through ``escape`` or is written as its
code point, so nothing that is stored can become an element, an attribute, a direction or an escape sequence.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from markupsafe import Markup, escape

from truekeep.text.fold import INVISIBLE, confusables

_UNSEEN = rf"[{INVISIBLE}\x09\x0b-\x1f\u2028\u2029\ud800-\udfff\ue000-\uf8ff]"
_HIDDEN = re.compile(rf"{_UNSEEN}+|(?<=[\u0300-\u036f]{{3}})[\u0300-\u036f]+")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]")
_TAGS = range(0xE0020, 0xE007F)
_PICTURES = {"\t": "␉", "\r": "␍", "\x0b": "␋", "\x0c": "␌", "\x1b": "␛", "\x00": "␀"}
_MOST_NAMED = 6  # hidden characters named one by one; of more only the number is told

Span = tuple[int, int]


def spelled(text: object, spans: Sequence[Span] = ()) -> Markup:
    """A stored text as markup: hidden characters by their code points, look-alikes underlined, spans marked."""
    given = str(text)
    marked, alike = _merged(spans, len(given)), set(_lookalikes(given))
    out: list[Markup] = []
    for start, end in _stretches(marked, len(given)):
        inner = Markup("").join(_characters(given, start, end, alike))
        out.append(Markup("<mark>{}</mark>").format(inner) if _is_inside(marked, start) else inner)
    return Markup("").join(out)


def shows_hidden(text: str) -> bool:
    """Whether a text has characters that a person would not see, or would take for others."""
    return bool(_HIDDEN.search(text)) or any(True for _ in _lookalikes(text))


def _characters(text: str, start: int, end: int, alike: set[int]) -> Iterator[Markup]:
    done = start
    for match in _HIDDEN.finditer(text, start, end):
        yield from _plain(text, done, match.start(), alike)
        yield _ghost(match[0])
        done = match.end()
    yield from _plain(text, done, end, alike)


def _plain(text: str, start: int, end: int, alike: set[int]) -> Iterator[Markup]:
    for place in sorted(place for place in alike if start <= place < end):
        yield escape(text[start:place])
        char = text[place]
        yield Markup('<span class="alike" title="{} {}">{}</span>').format(_code(char), _name(char), char)
        start = place + 1
    yield escape(text[start:end])


def _ghost(run: str) -> Markup:
    """Characters that take no room on the page, as something that does. Tag characters spell ASCII."""
    if all(ord(char) in _TAGS for char in run):
        told = "".join(chr(ord(char) - 0xE0000) for char in run)
    elif len(run) <= _MOST_NAMED:
        told = " ".join(_PICTURES.get(char) or _code(char) for char in run)
    else:
        told = f"{_code(run[0])} … {_code(run[-1])} ({len(run)})"
    title = ", ".join(f"{_code(char)} {_name(char)}" for char in dict.fromkeys(run[:_MOST_NAMED]))
    return Markup('<span class="ghost" title="{}">{}</span>').format(title, told)


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


def _name(char: str) -> str:
    return unicodedata.name(char, "CONTROL")


def _lookalikes(text: str) -> Iterator[int]:
    """The places of letters of other alphabets in words that also have Latin ones."""
    if text.isascii():
        return
    table = confusables()
    for word in _WORD.finditer(text):
        if not word[0].isascii() and _LATIN.search(word[0]):
            places = enumerate(word[0], word.start())
            yield from (place for place, char in places if char in table.mixed or char in table.always)


def _merged(spans: Iterable[Span], size: int) -> list[Span]:
    """Spans in order, inside the text, overlapping ones as one."""
    found: list[Span] = []
    for start, end in sorted((max(0, start), min(end, size)) for start, end in spans):
        if start >= end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _stretches(marked: Sequence[Span], size: int) -> Iterator[Span]:
    """The text cut where a mark begins or ends."""
    edges = sorted({0, size, *(edge for span in marked for edge in span)})
    return pairwise(edges)


def _is_inside(marked: Sequence[Span], place: int) -> bool:
    index = bisect_right(marked, (place, 1 << 60)) - 1
    return index >= 0 and marked[index][0] <= place < marked[index][1]
