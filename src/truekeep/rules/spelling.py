"""A further view for rules: other spellings of the same words, commands and markup written the way rules expect.

Readers of text see through letters (``truekeep.text``); this sees through notation. A shell reads ``$HOME`` as
``~``, a program reads ``a["b"]`` as ``a.b``, a browser quotes the attribute that was left bare, and people read
past filler words and contractions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_lowercase, ascii_uppercase

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
