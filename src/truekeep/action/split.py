"""Put values back together that a call carries in pieces, over several arguments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from truekeep.action.arguments import Leaf
from truekeep.action.keys import joined
from truekeep.action.wanted import Wanted
from truekeep.text.salient import loose

_LONGEST_ROW = 6
_MOST_PAIRED = 12
_LONGEST_PIECE = 64
_SHORTEST_WHOLE = 6
_LONGEST_WHOLE = 200


def rows(leaves: tuple[Leaf, ...]) -> Iterator[tuple[tuple[int, ...], Wanted]]:
    """Neighbouring pieces read as one value, in their order and, for a few, in any order; pairs and whole lists."""
    pieces = [_piece(leaf) for leaf in leaves]
    for places in (*_lists(leaves), *_neighbours(pieces), *_apart(pieces)):
        orders = permutations(places) if len(places) <= 3 else [places]
        for order in orders:
            whole = "".join(pieces[place] for place in order)
            if _SHORTEST_WHOLE <= len(whole) <= _LONGEST_WHOLE:
                yield places, _whole(whole)


def _neighbours(pieces: list[str]) -> Iterator[tuple[int, ...]]:
    for start in range(len(pieces)):
        for size in range(2, _LONGEST_ROW + 1):
            if start + size > len(pieces) or not all(pieces[start : start + size]):
                break
            yield tuple(range(start, start + size))


def _apart(pieces: list[str]) -> Iterator[tuple[int, ...]]:
    """Two halves with something else between them."""
    if len(pieces) <= _MOST_PAIRED:
        yield from (
            pair
            for pair in combinations(range(len(pieces)), 2)
            if pair[1] - pair[0] > 1 and all(pieces[n] for n in pair)
        )


def _lists(leaves: tuple[Leaf, ...]) -> Iterator[tuple[int, ...]]:
    """Whole containers that are longer than a row: an account number given letter by letter."""
    containers: dict[str, list[int]] = {}
    for place, leaf in enumerate(leaves):
        containers.setdefault(leaf.container, []).append(place)
    yield from (tuple(places) for places in containers.values() if len(places) > _LONGEST_ROW)


def _piece(leaf: Leaf) -> str:
    if leaf.value is None or isinstance(leaf.value, bool):
        return ""
    text = str(leaf.value)
    return joined(text) if len(text) <= _LONGEST_PIECE and len(text.split()) <= 6 else ""


def _whole(text: str) -> Wanted:
    return Wanted("", keys=(f"joined:{text}",), loose_keys=(f"looseid:{loose(text)}",), is_telling=True)
