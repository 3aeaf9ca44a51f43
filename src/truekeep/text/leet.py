"""Read digits and signs that stand for letters."""

from __future__ import annotations

import re

from truekeep.text.lexicon import words
from truekeep.text.view import Edit, View, excerpt

_SIGNS = "0134567892@$!|+€£()<"
_LETTERS = "oieasgtbgzasiltelcec"
_TABLE = str.maketrans(_SIGNS, _LETTERS)
_TABLE_L = str.maketrans(_SIGNS.replace("1", "\x00"), _LETTERS) | {ord("1"): "l", ord("!"): "l"}
_SIGN = re.compile(r"[0-9@$!|+€£]")
_TOKEN = re.compile(r"(?<![\w@$!|+€£])(?=[^\W\d_]*+[0-9@$!|+€£])[\w@$!|+€£]++")
_LETTER = re.compile(r"[^\W\d_]")
_TRAILING = re.compile(r"[!+|]+$")


def _edits(text: str) -> list[Edit]:
    found: list[Edit] = []
    if not _SIGN.search(text):
        return found
    for match in _TOKEN.finditer(text):
        token = _TRAILING.sub("", match[0]) if len(_LETTER.findall(match[0])) > 1 else match[0]
        letters = len(_LETTER.findall(token))
        if letters and len(token) >= 2 and len(token) <= 40 and letters < len(token):
            found.append((match.start(), match.start() + len(token), token))
    return found


def unleet(base: View) -> list[View]:
    """The leetspeak readings (``1`` as ``i`` and as ``l``) in which known words appear."""
    tokens = _edits(base.text)
    views: list[View] = []
    seen: set[str] = set()
    for table in (_TABLE, _TABLE_L) if tokens else ():
        edits: list[Edit] = [(start, end, token.translate(table)) for start, end, token in tokens]
        known = {word.lower() for _, _, word in edits if len(word) >= 3} & words().known
        if known - seen:
            seen |= known
            views.append(excerpt(base, "leet", edits))
    return views
