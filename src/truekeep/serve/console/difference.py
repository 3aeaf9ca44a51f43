"""Two texts side by side: which words differ."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_TOKENS = 400
"""Comparing is quadratic at worst; of longer texts the beginning is compared."""


class DifferencePiece(NamedTuple):
    """A stretch of a text, and whether the other text has it, too."""

    text: str
    is_different: bool


def differing(one: str, other: str) -> tuple[list[DifferencePiece], list[DifferencePiece]]:
    """Both texts in pieces."""
    left, right = _TOKEN.findall(one)[:_MOST_TOKENS], _TOKEN.findall(other)[:_MOST_TOKENS]
    folded = [token.casefold() for token in left], [token.casefold() for token in right]
    ours: list[DifferencePiece] = []
    theirs: list[DifferencePiece] = []
    for kind, a, b, c, d in SequenceMatcher(None, *folded, autojunk=False).get_opcodes():
        if b > a:
            ours.append(DifferencePiece("".join(left[a:b]), kind != "equal"))
        if d > c:
            theirs.append(DifferencePiece("".join(right[c:d]), kind != "equal"))
    return _whole(ours, one), _whole(theirs, other)


def _whole(pieces: list[DifferencePiece], text: str) -> list[DifferencePiece]:
    """What was too long to be compared is still shown."""
    rest = text[sum(len(piece.text) for piece in pieces) :]
    return [*pieces, DifferencePiece(rest, False)] if rest else pieces
