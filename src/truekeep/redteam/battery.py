"""The whole battery: every attack on honest keeps of every size, and what the gate costs on them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from truekeep.config import Settings
from truekeep.errors import InvalidRequest
from truekeep.redteam.influence.arena import Arena, Progress, silent
from truekeep.redteam.influence.attack import Attack, Truth
from truekeep.redteam.influence.benign import CORROBORATED, OWNER, Fact
from truekeep.redteam.influence.loading import attacks
from truekeep.redteam.influence.measure import holds, run
from truekeep.redteam.influence.outcome import Outcome, Rate, totals
from truekeep.redteam.influence.stage import Stage
from truekeep.redteam.influence.utility import Found, Utility

SIZES = (60, 500, 2_000, 10_000)
_BYSTANDERS = {OWNER: 6, CORROBORATED: 4}
_MOST_SEEDS = 16


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run. It is true when no attack got anything."""

    settings: Settings
    outcomes: tuple[Outcome, ...]
    found: tuple[Found, ...]
    refused: Mapping[int, Rate]
    """By size, how many honest texts were not stored."""

    def __bool__(self) -> bool:
        return all(self.outcomes)

    @property
    def totals(self) -> dict[int, dict[str, Rate]]:
        """By size, what all attacks together got."""
        sizes = dict.fromkeys(one.size for one in self.outcomes)
        return {size: totals(one for one in self.outcomes if one.size == size) for size in sizes}

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON members."""
        rates = {size: {name: rate.as_dict() for name, rate in found.items()} for size, found in self.totals.items()}
        return {
            "held": bool(self),
            "conditions": {"policy": self.settings.policy, "embedder": self.settings.embedder},
            "totals": [{"size": size, **found} for size, found in rates.items()],
            "honest_texts_not_stored": [{"size": size, **rate.as_dict()} for size, rate in self.refused.items()],
            "attacks": [one.as_dict() for one in self.outcomes],
            "benign": [one.as_dict() for one in self.found],
        }


def chosen(name: str | None) -> tuple[Attack, ...]:
    """All attacks, or those with these words in their name."""
    found = tuple(one for one in attacks() if name is None or name.casefold() in one.name.casefold())
    if not found:
        raise InvalidRequest("No attack has that name.", code="unknown_attack", hint="List them with --list.")
    return found


def battery(
    settings: Settings,
    sizes: Sequence[int] = SIZES,
    playing: Sequence[Attack] | None = None,
    *,
    questions: int = 200,
    config: Path | None = None,
    progress: Progress = silent,
) -> Report:
    """Run the attacks on keeps of these sizes, in a temporary directory; no questions, no benign figures.

    ``config`` is the directory whose settings and rules the keeps have.
    """
    listed = attacks() if playing is None else playing
    outcomes: list[Outcome] = []
    found: list[Found] = []
    refused: dict[int, Rate] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="truekeep-redteam-") as folder:
            arena = Arena(Path(folder), size, settings, config=config, progress=progress)
            refused[size] = arena.refused
            outcomes += attacked(arena, listed, progress)
            if questions:
                found += _asked(arena, Path(folder), questions, progress)
    return Report(settings, tuple(outcomes), tuple(found), refused)


class Ground(Protocol):
    """Where attacks are played: honest facts, and a fresh stage with them for each attack."""

    size: int
    facts: list[Fact]

    def stage(self) -> AbstractContextManager[Stage]:
        """A target that holds the facts, to be attacked and thrown away."""


def attacked(arena: Ground, listed: Sequence[Attack], progress: Progress = silent) -> list[Outcome]:
    """Every attack, each on a fresh stage."""
    aside = bystanders(arena)
    outcomes: list[Outcome] = []
    for done, attack in enumerate(listed, 1):
        with arena.stage() as stage:
            outcomes.append(run(attack, stage, arena.size, aside))
        progress(f"attacks on {arena.size:,}", done, len(listed))
    return outcomes


def bystanders(arena: Ground) -> list[Truth]:
    """Honest facts that act, that no attack aims at, and that none may push out."""
    facts = [
        fact
        for group, many in _BYSTANDERS.items()
        for fact in islice((one for one in arena.facts if one.group == group), many)
    ]
    with arena.stage() as stage:
        truths = [Truth(text=fact.said[0][1], query=fact.questions[0]) for fact in facts]
        return [truth for truth in truths if holds(stage.target, truth)]


def _asked(arena: Arena, folder: Path, questions: int, progress: Progress) -> list[Found]:
    """The benign figures; a small keep has few facts, so that several are asked."""
    utility = Utility(arena.size, questions)
    utility.ask(arena)
    for seed in range(1, _MOST_SEEDS):
        if utility.is_enough:
            break
        utility.ask(Arena(folder, arena.size, arena.settings, seed=seed, config=arena.config))
        progress(f"honest questions on {arena.size:,}", seed, _MOST_SEEDS - 1)
    return utility.found()
