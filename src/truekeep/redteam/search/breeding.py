"""Where sequences come from: chance alone, or chance guided by what made the target answer in a new way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from collections.abc import Sequence as Many
from dataclasses import dataclass, field

from truekeep.redteam.search.cost import Budget
from truekeep.redteam.search.moves import MOVES, Move, some, varied
from truekeep.redteam.search.scene import Scene
from truekeep.redteam.search.sequence import Sequence
from truekeep.redteam.search.trial import Trial

_MOST_KEPT = 400
_TRIES = 20


def within(sequence: Sequence, budget: Budget) -> Sequence:
    """The longest beginning of a sequence that the budget pays for."""
    while sequence.moves and not budget.covers(sequence.cost):
        sequence = Sequence(sequence.scene, sequence.moves[:-1])
    return sequence


def by_chance(scene: Scene, budget: Budget, chance: random.Random) -> Sequence:
    """Any sequence within the budget."""
    for _ in range(_TRIES):
        many = chance.randint(1, budget.moves)
        made = within(Sequence(scene, tuple(some(chance) for _ in range(many))), budget)
        if made.moves:
            return made
    return Sequence(scene, ())


def simplest(listed: Many[Scene]) -> Iterator[Sequence]:
    """Every move by itself, with its simplest parameters, in every scene: what the guided search begins with."""
    return (Sequence(scene, (kind(),)) for kind in MOVES.values() for scene in listed)


@dataclass(slots=True)
class Kept:
    """A sequence that showed something new, and how often others were made from it."""

    sequence: Sequence
    nearness: int
    used: int = 0


@dataclass(slots=True)
class Archive:
    """Sequences worth changing, because each made the target answer as none had before it."""

    kept: list[Kept] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def learn(self, sequence: Sequence, trial: Trial) -> None:
        """Keep a sequence that showed something new for its scene."""
        shown = {f"{sequence.scene.name}: {what}" for what in trial.seen}
        if shown - self.seen and len(self.kept) < _MOST_KEPT:
            self.kept.append(Kept(sequence, trial.nearness))
        self.seen |= shown

    def bred(self, budget: Budget, chance: random.Random) -> Sequence:
        """A changed copy of a kept sequence; near ones and seldom used ones are taken more often."""
        weights = [(1 + one.nearness) ** 2 / (1 + one.used) for one in self.kept]
        (parent,) = chance.choices(self.kept, weights)
        parent.used += 1
        other = chance.choice(self.kept).sequence
        return within(_changed(parent.sequence, other, budget, chance), budget)


def _changed(sequence: Sequence, other: Sequence, budget: Budget, chance: random.Random) -> Sequence:
    moves = list(sequence.moves)
    for _ in range(chance.randint(1, 3)):
        _change(moves, other.moves, chance)
    return Sequence(sequence.scene, tuple(moves[: budget.moves]))


def _change(moves: list[Move], others: Many[Move], chance: random.Random) -> None:
    """Put a move in, take one out, vary one, swap two, or go on as another sequence does."""
    place = chance.randrange(len(moves)) if moves else 0
    way = chance.choice(("put", "put", "vary", "vary", "vary", "take", "swap", "splice")) if moves else "put"
    if way == "put":
        moves.insert(chance.randint(0, len(moves)), some(chance))
    elif way == "vary":
        moves[place] = varied(moves[place], chance)
    elif way == "take":
        del moves[place]
    elif way == "swap":
        partner = chance.randrange(len(moves))
        moves[place], moves[partner] = moves[partner], moves[place]
    else:
        moves[place + 1 :] = others
