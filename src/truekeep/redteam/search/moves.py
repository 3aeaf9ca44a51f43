"""Moves: the small things an attacker can cause, each with parameters that have simple and elaborate values.

Whatever a move does goes through the public operations of a target, as the steps of the attacks in the files do. What
only the owner, the operator or a reviewer could do by mistake (approve the lie, enrol the attacker) is no move.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

from truekeep.redteam.influence.conversing import Begin
from truekeep.redteam.influence.stage import Step
from truekeep.redteam.search.scene import Scene

MOVES: dict[str, type[Move]] = {}
"""Every kind of move, by its name."""
CLEAN, OPEN = "clean", "open"
"""The attacker's sessions: one whose host reports everything, and one where nobody does."""
_Kind = TypeVar("_Kind", bound="type[Move]")


@dataclass(frozen=True, kw_only=True)
class Move(ABC):
    """One thing to do. Two moves with the same parameters are the same."""

    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """What each parameter can be, from the simplest to the most elaborate."""
    weight: ClassVar[float] = 1.0
    """How often it is taken, beside the others."""

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
        return [name_of(self), {name: value for name, value in plain.items() if value != getattr(simplest, name)}]


def move(name: str, weight: float = 1.0) -> Callable[[_Kind], _Kind]:
    """Register a kind of move."""

    def register(kind: _Kind) -> _Kind:
        MOVES[name] = kind
        kind.weight = weight
        return kind

    return register


def name_of(one: Move) -> str:
    """The name a move is registered under."""
    return next(name for name, kind in MOVES.items() if kind is type(one))


def from_list(raw: Sequence[Any]) -> Move:
    """The move that was written as this."""
    name, parameters = raw
    return MOVES[name](**parameters)


def some(chance: random.Random) -> Move:
    """Any move, with any parameters; simple ones are likelier."""
    (kind,) = chance.choices(list(MOVES.values()), [one.weight for one in MOVES.values()])
    return kind(**{name: _some(chance, values) for name, values in kind.choices.items()})


def varied(one: Move, chance: random.Random) -> Move:
    """The move with another value of one parameter."""
    if not one.choices:
        return some(chance)
    name = chance.choice(sorted(one.choices))
    return replace(one, **{name: _some(chance, one.choices[name])})


def simpler(one: Move) -> Iterator[Move]:
    """The move with a simpler value of one parameter, simplest first; numbers also come down one by one."""
    for entry in fields(one):
        value = getattr(one, entry.name)
        values = one.choices.get(entry.name, ())
        for other in values[: _place(values, value)]:
            yield replace(one, **{entry.name: other})
        if isinstance(value, int) and not isinstance(value, bool) and value > 1:
            yield replace(one, **{entry.name: value - 1})


def opened(scene: Scene, session: str) -> Iterator[Step]:
    """The attacker's session, begun if there is one."""
    if session:
        yield Begin(name=session, mediated=session == CLEAN, member=scene.member or None)


def asked(scene: Scene, session: str) -> Begin:
    """A session of the one who is attacked."""
    return Begin(name=session, mediated=True, member=scene.attack.reader or None)


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
