"""Steps of those who have no business here: the owner of another memory, and whoever holds the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from truekeep.redteam.influence.stage import Stage, Step, play, step
from truekeep.redteam.influence.target import Refused


@step("elsewhere")
@dataclass(frozen=True, kw_only=True)
class Elsewhere(Step):
    """Steps in the memory next door, with the names, tickets and sessions that are known of this one."""

    do: tuple[Step, ...]

    @property
    def stakes(self) -> int:
        """Those of its steps."""
        return sum(one.stakes for one in self.do)

    def play(self, stage: Stage) -> None:
        """By its owner, who may do everything there."""
        here = stage.target
        stage.target = here.neighbour()
        try:
            play(stage, self.do)
        finally:
            stage.target = here


@step("find")
@dataclass(frozen=True, kw_only=True)
class Find(Step):
    """Look for words in what is remembered; not finding them is a refusal."""

    query: str
    containing: str
    acting: bool = False
    """Whether only what may act counts."""
    k: int = 20

    def play(self, stage: Stage) -> None:
        """By every question that whoever is there can ask."""
        hits = stage.target.recall(self.query, self.k, influence_only=False)
        hits += stage.target.recall(self.query, self.k, influence_only=True)
        if not any(self.containing in hit.text and (hit.may_act or not self.acting) for hit in hits):
            raise Refused("not_found")


@step("edit_at_rest")
@dataclass(frozen=True, kw_only=True)
class EditAtRest(Step):
    """Change a stored record behind the memory's back, and open it again."""

    of: str
    changes: Mapping[str, Any]

    def play(self, stage: Stage) -> None:
        """By somebody who has the file and can read it, but not the keys that seal it."""
        stage.target.edit_at_rest(stage.id_of(self.of), self.changes)
