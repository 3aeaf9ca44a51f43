"""Put values back together that a call carries in pieces, over several arguments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import NamedTuple

from truekeep.action.arguments import Leaf
from truekeep.action.keys import joined
from truekeep.action.wanted import Wanted
from truekeep.text.salient import loose

_LONGEST_ROW = 6
_MOST_PAIRED = 12
_LONGEST_PIECE = 64
_SHORTEST_WHOLE = 6
_LONGEST_WHOLE = 200


class Whole(NamedTuple):
    """Pieces at some places read as one value; most stand nowhere, so this is made to be thrown away."""

    places: tuple[int, ...]
    key: str
    loose_key: str

    @property
    def wanted(self) -> Wanted:
        """What to look for."""
        return Wanted("", keys=(self.key,), loose_keys=(self.loose_key,), is_telling=True)


def wholes(leaves: tuple[Leaf, ...]) -> Iterator[Whole]:
    """Neighbouring pieces read as one value, in their order and, for a few, in any order; pairs and whole lists."""
    pieces = [_piece(leaf) for leaf in leaves]
    thin = [loose(piece) for piece in pieces]
    for places in (*_lists(leaves), *_neighbours(pieces), *_apart(pieces)):
        for order in permutations(places) if len(places) <= 3 else [places]:
            text = "".join([pieces[place] for place in order])
            if _SHORTEST_WHOLE <= len(text) <= _LONGEST_WHOLE:
                # Beyond ASCII a character may be read by its neighbours, so only the whole tells.
                spelt = "".join([thin[place] for place in order]) if text.isascii() else loose(text)
                yield Whole(places, f"joined:{text}", f"looseid:{spelt}")


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
