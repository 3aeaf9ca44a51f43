"""One text, analysed once: its readings, words, language, values and dates, for everybody who needs them.

A text on its way in is looked at by the rules, the screens, the claims, the marks and the index. Whoever brings it in
holds its ``Analysis``; everybody else is handed it, or asks for the analysis of the same text and gets that one. Each
part is made when it is first asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from truekeep.text.fold import folded
from truekeep.text.reading import Readings, read_views
from truekeep.text.salient import ValueScan, in_raw_text, read_values
from truekeep.text.words import WordRow, words

if TYPE_CHECKING:
    from truekeep.text.language import Language
    from truekeep.text.tokens import Salient
    from truekeep.text.view import View

_RECENT = 16
"""Analyses that are kept although nobody holds them, for callers who come to the same text one after the other."""


class Analysis:
    """What is known of one text. A part is made when it is first asked for, and is a plain attribute from then on."""

    __slots__ = ("__weakref__", "_rows", "folded", "scan", "text", "views", "words")

    text: str
    views: Readings
    """Every way in which it may be read; the raw text first."""
    scan: ValueScan
    """Its typed tokens, language and values; places are those of the plain spelling."""
    words: list[str]
    """Its words, folded, as the search takes them."""
    folded: str
    """The text as it is compared with others as a whole."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._rows: dict[int, WordRow] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in _PARTS:
            raise AttributeError(name)
        part = _PARTS[name](self.text)
        setattr(self, name, part)
        return part

    def row(self, view: View) -> WordRow:
        """The words and marks of one of its views."""
        row = self._rows.get(id(view))
        if row is None:
            row = self._rows[id(view)] = WordRow(view.text)
        return row

    @property
    def language(self) -> Language:
        """The language it is most likely in."""
        return self.scan.language

    @property
    def values(self) -> tuple[Salient, ...]:
        """The values in it, with their places in the raw text."""
        return in_raw_text(self.scan)


_PARTS: dict[str, Callable[[str], Any]] = {
    "views": read_views,
    "scan": read_values,
    "words": words,
    "folded": folded,
}
_known: WeakValueDictionary[str, Analysis] = WeakValueDictionary()
_recent: deque[Analysis] = deque(maxlen=_RECENT)


def analysed(text: str) -> Analysis:
    """The analysis of a text: the one that somebody holds, or a new one."""
    found = _known.get(text)
    if found is None:
        found = _known[text] = Analysis(text)
        _recent.append(found)
    return found


def release() -> None:
    """Let go of the analyses that nobody holds."""
    _recent.clear()
