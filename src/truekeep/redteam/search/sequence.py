"""A sequence of moves in a scene: what it does, what it costs, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from truekeep.redteam.influence.stage import Step
from truekeep.redteam.search.cost import Cost, cost_of
from truekeep.redteam.search.moves import Move, from_list
from truekeep.redteam.search.scene import Scene, scenes
from truekeep.redteam.search.talking import Pass


@dataclass(frozen=True)
class Sequence:
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
        return cost_of(self.steps, len(self.moves))

    @property
    def effort(self) -> tuple[Cost, int]:
        """The cost and, between sequences of the same cost, how elaborate the moves are."""
        return self.cost, sum(one.elaborate for one in self.moves)

    @property
    def waits(self) -> Sequence:
        """The same time passing without an attacker."""
        return Sequence(self.scene, tuple(one for one in self.moves if isinstance(one, Pass)))

    def as_dict(self) -> dict[str, Any]:
        """The sequence as JSON members."""
        return {"scene": self.scene.name, "moves": [one.as_list() for one in self.moves]}

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Sequence:
        """The sequence that was written as these members."""
        (scene,) = (one for one in scenes() if one.name == members["scene"])
        return cls(scene, tuple(from_list(one) for one in members["moves"]))
