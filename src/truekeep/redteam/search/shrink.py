"""Make a sequence that broke a defence as cheap as it gets: fewer moves, fewer copies and names, simpler words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from truekeep.redteam.search.moves import MOVES, simpler
from truekeep.redteam.search.sequence import Sequence


def shrunk(sequence: Sequence, still_breaks: Callable[[Sequence], bool], most: int = 400) -> Sequence:
    """The cheapest that is found by single steps down, within so many trials; no single step leads lower then."""
    left = most
    found = True
    while found:
        found = False
        for smaller in _smaller(sequence):
            if left <= 0:
                return sequence
            if smaller.effort >= sequence.effort:
                continue
            left -= 1
            if still_breaks(smaller):
                sequence, found = smaller, True
                break
    return sequence


def _smaller(sequence: Sequence) -> Iterator[Sequence]:
    """Without one move, with another kind of move in its simplest form, and with one parameter simpler."""
    moves = sequence.moves
    if len(moves) > 1:
        for place in range(len(moves)):
            yield Sequence(sequence.scene, moves[:place] + moves[place + 1 :])
    for place, one in enumerate(moves):
        for other in (*(kind() for kind in MOVES.values()), *simpler(one)):
            yield Sequence(sequence.scene, (*moves[:place], other, *moves[place + 1 :]))
