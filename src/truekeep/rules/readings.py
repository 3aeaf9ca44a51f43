"""How rules read a text: passage by passage, and with notation written the way rules expect it.

Looking for a pattern costs in proportion to the text that is looked at. What decides about one match of nearly every
pattern is a few hundred characters, so a long text is cut into passages, each with a margin on both sides that holds
all that can decide about a match which starts in the passage. A pattern without such a bound sees the whole text.

Readers of text see through letters (``truekeep.text``); ``respelled`` sees through notation. A shell reads ``$HOME`` as
``~``, a program reads ``a["b"]`` as ``a.b``, a browser quotes the attribute that was left bare, and people read
past filler words and contractions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from truekeep.rules.pattern import FARTHEST, Pattern
from truekeep.text.view import Edit, View, excerpt

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'"}
_CONTRACTIONS = {
    "do not": "don't", "does not": "doesn't", "did not": "didn't", "is not": "isn't", "are not": "aren't",
    "cannot": "can't", "he is": "he's", "she is": "she's", "it is": "it's", "you are": "you're", "i am": "i'm",
    "i will": "i'll", "you will": "you'll",
}  # fmt: skip
_SIGNS = ("\\", "$", '["', "['", "=")
# Every branch begins with a character or word that honest prose seldom has in that place.
_SPELLING = re.compile(
    r"""\\(?P<escape>[ntr"'])
      | (?<=[\w\])])\[(?P<quote>["'])(?P<name>[A-Za-z_$][\w$]{0,60})(?P=quote)\]
      | (?P<home>\$HOME\b|\$\{HOME\})
      | (?P<open>\$\([ \t]{1,50})
      | (?<=[\s"'])on[a-z]{3,20}=(?P<bare>[^\s"'>=][^\s>]{0,300})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FILLER = "s that "
_LETTERS = frozenset(ascii_lowercase)
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)


def respelled(view: View) -> View | None:
    """``view`` with everything spelled the usual way, or ``None`` if it already is."""
    text = view.text
    edits = list(_notation(text)) if any(sign in text for sign in _SIGNS) else []
    edits += _wording(text.translate(_SMALL))
    return excerpt(view, "respelled", _apart(edits)) if edits else None


def _apart(edits: list[Edit]) -> Iterator[Edit]:
    """The edits in order, without those that begin inside another."""
    done = 0
    for edit in sorted(edits):
        if edit[0] >= done:
            done = edit[1]
            yield edit


def _wording(lowered: str) -> Iterator[Edit]:
    """Found string by string, which is quicker than one expression for all of them."""
    for phrase, short in _CONTRACTIONS.items():
        for place in _places(lowered, phrase):
            end = place + len(phrase)
            if not _is_word(lowered[place - 1 : place]) and not _is_word(lowered[end : end + 1]):
                yield place, end, short
    for place in _places(lowered, _FILLER):
        end = place + len(_FILLER)
        if lowered[place - 1 : place] in _LETTERS and lowered[end : end + 1] in _LETTERS:
            yield place + 1, end - 1, ""


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _notation(text: str) -> Iterator[Edit]:
    for match in _SPELLING.finditer(text):
        start, end = match.span()
        kind = match.lastgroup
        if kind == "escape":
            yield start, end, _ESCAPES[match["escape"].lower()]
        elif kind == "name":
            yield start, end, f".{match['name']}"
        elif kind == "home":
            yield start, end, "~"
        elif kind == "open":
            yield start, end, "$("
        else:
            yield match.start("bare"), end, f'"{match["bare"]}"'


_LENGTH = 4_096
"""Characters that a slow pattern sees at a time, so that its cost grows with the text and not faster."""
_MARGIN = FARTHEST + 2
_EARLIER = 8
"""Places before a passage from which a match that reaches into it is looked for, the nearest."""


@dataclass(frozen=True, slots=True)
class RulePassage:
    """``text`` is from ``offset`` of the whole; matches that start from ``first`` up to ``end`` are its own."""

    text: str
    offset: int = 0
    first: int = 0
    end: int | None = None

    def find(self, pattern: Pattern, patience: float, *, longest: bool) -> tuple[int, int] | None:
        """The leftmost match of this passage, in the coordinates of the whole text."""
        span = pattern.find(self.text, patience, longest=longest, first=self.first)
        if span is None or (self.end is not None and span[0] >= self.end):
            return None
        return span[0] + self.offset, span[1] + self.offset


def passages(text: str) -> list[RulePassage]:
    """The whole of a short text; a long one in parts that overlap by what one match can need."""
    if len(text) <= _LENGTH + 2 * _MARGIN:
        return [RulePassage(text)]
    return [_passage(text, start, start + _LENGTH) for start in range(0, len(text), _LENGTH)]


def _passage(text: str, start: int, end: int) -> RulePassage:
    low, high = max(0, start - _MARGIN), end + _MARGIN
    # A match that starts where the text ends belongs to the last passage.
    return RulePassage(text[low:high], low, start - low, end - low if end < len(text) else None)


def places(pattern: Pattern, text: str, where: tuple[int, int]) -> Iterator[int]:
    """Where in ``text`` matches of ``pattern`` over ``where`` start; of those that start before it, the nearest."""
    low, high = where
    if pattern.is_far or len(text) <= _LENGTH:
        part = RulePassage(text, 0, 0, high)
    else:
        part = _passage(text, max(0, low - _MARGIN), high)
    starts = pattern.starts(part.text)
    within = range(part.first, len(part.text) + 1)
    yield from (place + part.offset for place in within if starts[place] and low <= place + part.offset < high)
    earlier = [place for place in within if starts[place] and place + part.offset < low][-_EARLIER:]
    yield from (place + part.offset for place in earlier if pattern.end_from(part.text, place) + part.offset > low)
