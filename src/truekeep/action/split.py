"""Put values back together that a call carries in pieces, over several arguments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from truekeep.action.arguments import Leaf
from truekeep.action.keys import joined
from truekeep.action.wanted import Wanted
from truekeep.text.salient import loose

_LONGEST_ROW = 6
_MOST_LEAVES = 48
_LONGEST_PIECE = 64
_SHORTEST_WHOLE = 6


def rows(leaves: tuple[Leaf, ...]) -> Iterator[tuple[tuple[int, ...], Wanted]]:
    """Neighbouring pieces read as one value, in their order and, for a few, in any order."""
    if len(leaves) > _MOST_LEAVES:
        return
    pieces = [_piece(leaf) for leaf in leaves]
    for start in range(len(leaves)):
        for size in range(2, _LONGEST_ROW + 1):
            places = tuple(range(start, start + size))
            if start + size > len(leaves) or not all(pieces[place] for place in places):
                break
            orders = permutations(places) if size <= 3 else [places]
            for order in orders:
                whole = "".join(pieces[place] for place in order)
                if len(whole) >= _SHORTEST_WHOLE:
                    yield places, _whole(whole)


def _piece(leaf: Leaf) -> str:
    if leaf.value is None or isinstance(leaf.value, bool):
        return ""
    text = str(leaf.value)
    return joined(text) if len(text) <= _LONGEST_PIECE and len(text.split()) <= 6 else ""


def _whole(text: str) -> Wanted:
    return Wanted("", keys=(f"joined:{text}",), loose_keys=(f"looseid:{loose(text)}",), is_telling=True)
