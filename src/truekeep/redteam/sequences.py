"""Sequences of moves: the small things an attacker can cause, what they cost, where they come from, and smaller ones.

Whatever a move does goes through the public operations of a target, as the steps of the attacks in the files do. What
only the owner, the operator or a reviewer could do by mistake (approve the lie, enrol the attacker) is no move.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from truekeep.redteam.attack import Scene
    from truekeep.redteam.stage import Step

_MOST_KEPT = 400  # sequences that showed something new and are built upon
_TRIES = 20


class Cost(NamedTuple):
    """Smaller is cheaper, and records weigh most."""

    records: int
    """Texts that were written, offered or shown on the attacker's account."""
    principals: int
    """Different names under which that was done; a channel without one counts as one."""
    sessions: int
    """Sessions of the agent that were needed."""
    moves: int

    def __str__(self) -> str:
        return f"{self.records} records, {self.principals} principals, {self.sessions} sessions, {self.moves} moves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that an attacker may spend on one sequence, and the most sequences that are tried."""

    records: int = 1_000
    principals: int = 300
    sessions: int = 12
    moves: int = 6
    sequences: int = 100_000
    enough: int = 40
    """A defence that was broken so often is broken; no more sequences are tried."""

    def covers(self, cost: Cost) -> bool:
        """Whether a sequence of that cost is within it."""
        return (
            cost.records <= self.records
            and cost.principals <= self.principals
            and cost.sessions <= self.sessions
            and cost.moves <= self.moves
        )

    def as_dict(self) -> dict[str, int]:
        """The budget as JSON members."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Move(ABC):
    """One thing to do. Two moves with the same parameters are the same."""

    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """What each parameter can be, from the simplest to the most elaborate."""
    name: ClassVar[str]
    weight: ClassVar[float] = 1.0
    """How often it is taken, beside the others."""
    is_time: ClassVar[bool] = False
    """Whether it is only time that passes, which nobody does."""

    @abstractmethod
    def steps(self, scene: Scene) -> Iterator[Step]:
        """What is done to the target."""

    @property
    def elaborate(self) -> int:
        """How far its parameters are from the simplest ones."""
        return sum(_place(values, getattr(self, name)) for name, values in self.choices.items())

    def as_list(self) -> list[Any]:
        """The move as JSON: its name and the parameters that are not the simplest."""
        simplest = type(self)()
        plain = asdict(self)
        return [self.name, {name: value for name, value in plain.items() if value != getattr(simplest, name)}]


def simpler(one: Move) -> Iterator[Move]:
    """The move with a simpler value of one parameter, simplest first; numbers also come down one by one."""
    for entry in fields(one):
        value = getattr(one, entry.name)
        values = one.choices.get(entry.name, ())
        for other in values[: _place(values, value)]:
            yield replace(one, **{entry.name: other})
        if isinstance(value, int) and not isinstance(value, bool) and value > 1:
            yield replace(one, **{entry.name: value - 1})


@dataclass(frozen=True)
class MoveSequence:
    """Moves, one after the other."""

    scene: Scene
    moves: tuple[Move, ...]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What is done to the target."""
        return tuple(step for one in self.moves for step in one.steps(self.scene))

    @cached_property
    def cost(self) -> Cost:
        """What it costs the attacker."""
        voices = [voice for step in self.steps for voice in step.voices]
        sessions = {step.used_session for step in self.steps} - {""}
        return Cost(len(voices), len(set(voices)), len(sessions), len(self.moves))

    @property
    def effort(self) -> tuple[Cost, int]:
        """The cost and, between sequences of the same cost, how elaborate the moves are."""
        return self.cost, sum(one.elaborate for one in self.moves)

    @property
    def waits(self) -> MoveSequence:
        """The same time passing without an attacker."""
        return MoveSequence(self.scene, tuple(one for one in self.moves if one.is_time))

    def as_dict(self) -> dict[str, Any]:
        """The sequence as JSON members."""
        return {"scene": self.scene.name, "moves": [one.as_list() for one in self.moves]}


@dataclass(slots=True)
class KeptSequence:
    """A sequence that showed something new, and how often others were made from it."""

    sequence: MoveSequence
    nearness: int
    used: int = 0


@dataclass(slots=True)
class Archive:
    """Sequences worth changing, because each made the target answer as none had before it."""

    kept: list[KeptSequence] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def learn(self, sequence: MoveSequence, answers: Iterable[str], nearness: int) -> None:
        """Keep a sequence that showed something new for its scene."""
        shown = {f"{sequence.scene.name}: {what}" for what in answers}
        if shown - self.seen and len(self.kept) < _MOST_KEPT:
            self.kept.append(KeptSequence(sequence, nearness))
        self.seen |= shown

    def pair(self, chance: random.Random) -> tuple[MoveSequence, MoveSequence]:
        """A sequence to change, and another to go on as; near ones and seldom used ones are taken more often."""
        weights = [(1 + one.nearness) ** 2 / (1 + one.used) for one in self.kept]
        (parent,) = chance.choices(self.kept, weights)
        parent.used += 1
        return parent.sequence, chance.choice(self.kept).sequence


@dataclass(frozen=True, slots=True)
class Repertoire:
    """The kinds of moves that an attacker has, and the sequences that can be made of them."""

    kinds: Sequence[type[Move]]

    def simplest(self, listed: Sequence[Scene]) -> Iterator[MoveSequence]:
        """Every move by itself, with its simplest parameters, in every scene: what the guided search begins with."""
        return (MoveSequence(scene, (kind(),)) for kind in self.kinds for scene in listed)

    def by_chance(self, scene: Scene, budget: Budget, chance: random.Random) -> MoveSequence:
        """Any sequence within the budget."""
        for _ in range(_TRIES):
            many = chance.randint(1, budget.moves)
            made = _within(MoveSequence(scene, tuple(self._some(chance) for _ in range(many))), budget)
            if made.moves:
                return made
        return MoveSequence(scene, ())

    def changed(
        self, sequence: MoveSequence, other: MoveSequence, budget: Budget, chance: random.Random
    ) -> MoveSequence:
        """A copy of a sequence with up to three changes, within the budget."""
        moves = list(sequence.moves)
        for _ in range(chance.randint(1, 3)):
            self._change(moves, other.moves, chance)
        return _within(MoveSequence(sequence.scene, tuple(moves[: budget.moves])), budget)

    def shrunk(
        self, sequence: MoveSequence, still_breaks: Callable[[MoveSequence], bool], most: int = 400
    ) -> MoveSequence:
        """The cheapest that is found by single steps down, within so many trials; no single step leads lower then."""
        left = most
        found = True
        while found:
            found = False
            for smaller in self._smaller(sequence):
                if left <= 0:
                    return sequence
                if smaller.effort >= sequence.effort:
                    continue
                left -= 1
                if still_breaks(smaller):
                    sequence, found = smaller, True
                    break
        return sequence

    def _some(self, chance: random.Random) -> Move:
        """Any move, with any parameters; simple ones are likelier."""
        (kind,) = chance.choices(self.kinds, [one.weight for one in self.kinds])
        return kind(**{name: _some(chance, values) for name, values in kind.choices.items()})

    def _varied(self, one: Move, chance: random.Random) -> Move:
        """The move with another value of one parameter."""
        if not one.choices:
            return self._some(chance)
        name = chance.choice(sorted(one.choices))
        return replace(one, **{name: _some(chance, one.choices[name])})

    def _change(self, moves: list[Move], others: Sequence[Move], chance: random.Random) -> None:
        """Put a move in, take one out, vary one, swap two, or go on as another sequence does."""
        place = chance.randrange(len(moves)) if moves else 0
        way = chance.choice(("put", "put", "vary", "vary", "vary", "take", "swap", "splice")) if moves else "put"
        if way == "put":
            moves.insert(chance.randint(0, len(moves)), self._some(chance))
        elif way == "vary":
            moves[place] = self._varied(moves[place], chance)
        elif way == "take":
            del moves[place]
        elif way == "swap":
            partner = chance.randrange(len(moves))
            moves[place], moves[partner] = moves[partner], moves[place]
        else:
            moves[place + 1 :] = others

    def _smaller(self, sequence: MoveSequence) -> Iterator[MoveSequence]:
        """Without one move, with another kind of move in its simplest form, and with one parameter simpler."""
        moves = sequence.moves
        if len(moves) > 1:
            for place in range(len(moves)):
                yield MoveSequence(sequence.scene, moves[:place] + moves[place + 1 :])
        for place, one in enumerate(moves):
            for other in (*(kind() for kind in self.kinds), *simpler(one)):
                yield MoveSequence(sequence.scene, (*moves[:place], other, *moves[place + 1 :]))


def _within(sequence: MoveSequence, budget: Budget) -> MoveSequence:
    """The longest beginning of a sequence that the budget pays for."""
    while sequence.moves and not budget.covers(sequence.cost):
        sequence = MoveSequence(sequence.scene, sequence.moves[:-1])
    return sequence


def _some(chance: random.Random, values: Sequence[Any]) -> Any:
    """A value; half of the time the simplest, so that sequences stay readable, and large numbers are rarer."""
    if chance.random() < 0.5:
        return values[0]
    weights = [1 / (1 + place) if isinstance(one, int) else 1.0 for place, one in enumerate(values)]
    return chance.choices(values, weights)[0]


def _place(values: Sequence[Any], value: Any) -> int:
    """Where a value stands; a number between two of them stands where it would be put."""
    if value in values:
        return values.index(value)
    return sum(one < value for one in values) if isinstance(value, int) else len(values)
