"""A further view for rules: other spellings of the same words, commands and markup written the way rules expect.

Readers of text see through letters (``truekeep.text``); this sees through notation. A shell reads ``$HOME`` as
``~``, a program reads ``a["b"]`` as ``a.b``, a browser quotes the attribute that was left bare, and people read
past filler words and contractions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from truekeep.text import View
from truekeep.text.view import Edit, rewrite

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'"}
_CONTRACTIONS = {
    "do not": "don't", "does not": "doesn't", "did not": "didn't", "is not": "isn't", "are not": "aren't",
    "cannot": "can't", "he is": "he's", "she is": "she's", "it is": "it's", "you are": "you're", "i am": "i'm",
    "i will": "i'll", "you will": "you'll",
}  # fmt: skip
_SIGNS = ("\\", "$", '["', "['", "=")
_PHRASES = (*(f"{phrase} " for phrase in _CONTRACTIONS), "s that ")
# Every branch begins with a character or word that honest prose seldom has in that place.
_SPELLING = re.compile(
    r"""\\(?P<escape>[ntr"'])
      | (?<=[\w\])])\[(?P<quote>["'])(?P<name>[A-Za-z_$][\w$]{0,60})(?P=quote)\]
      | (?P<home>\$HOME\b|\$\{HOME\})
      | (?P<open>\$\([ \t]{1,50})
      | (?<=[\s"'])on[a-z]{3,20}=(?P<bare>[^\s"'>=][^\s>]{0,300})
      | (?P<filler>(?<=[a-z]s)[ ]that(?=[ ][a-z]))
      | \b(?P<short>(?:do|does|did|is|are)[ ]not|cannot|(?:s?he|it)[ ]is|you[ ](?:are|will)|I[ ](?:am|will))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def respelled(view: View) -> View | None:
    """``view`` with everything spelled the usual way, or ``None`` if it already is."""
    lowered = view.text.lower()
    if not any(sign in lowered for sign in _SIGNS) and not any(phrase in lowered for phrase in _PHRASES):
        return None
    edits = list(_edits(view.text))
    return rewrite(view, "respelled", edits) if edits else None


def _edits(text: str) -> Iterator[Edit]:
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
        elif kind == "bare":
            yield match.start("bare"), end, f'"{match["bare"]}"'
        elif kind == "filler":
            yield start, end, ""
        else:
            yield start, end, _CONTRACTIONS[match["short"].lower()]
