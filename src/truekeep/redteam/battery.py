"""The whole battery: every attack on honest keeps of every size, and what the gate costs on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from truekeep.config import Settings
from truekeep.redteam.attack import Attack, Truth
from truekeep.redteam.attack_files import attacks
from truekeep.redteam.figures import Progress, Rate, TurnedDown, silent
from truekeep.redteam.honest import CORROBORATED, Fact, FactsFound, HonestAsking
from truekeep.redteam.keep_store import KeepStore
from truekeep.redteam.playing import AttackOutcome, holds, run, totals
from truekeep.redteam.stage import Stage
from truekeep.redteam.store import OWNER

Keeps = Callable[[int, int], KeepStore]
"""An honest keep of a size, filled by a seed."""

SIZES = (60, 500, 2_000, 10_000)
_BYSTANDERS = {OWNER: 6, CORROBORATED: 4}
_MOST_SEEDS = 16  # runs that are tried until enough honest questions were asked


@dataclass(frozen=True, slots=True)
class BatteryReport:
    """What came of a run. It is true when no attack got anything."""

    settings: Settings
    outcomes: tuple[AttackOutcome, ...]
    found: tuple[FactsFound, ...]
    refused: Mapping[int, TurnedDown]
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


def battery(
    keeps: Keeps,
    settings: Settings,
    sizes: Sequence[int],
    listed: Sequence[Attack],
    *,
    questions: int = 200,
    progress: Progress = silent,
) -> BatteryReport:
    """Run the attacks on keeps of these sizes; no questions, no benign figures."""
    outcomes: list[AttackOutcome] = []
    found: list[FactsFound] = []
    refused: dict[int, TurnedDown] = {}
    for size in sizes:
        with keeps(size, 0) as keep:
            refused[size] = keep.turned_down
            outcomes += attacked(keep, listed, progress)
            if questions:
                found += _asked(keep, keeps, questions, progress)
    return BatteryReport(settings, tuple(outcomes), tuple(found), refused)


class HonestGround(Protocol):
    """Where attacks are played: honest facts, and a fresh stage with them for each attack."""

    size: int
    facts: list[Fact]

    def stage(self) -> AbstractContextManager[Stage]:
        """A target that holds the facts, to be attacked and thrown away."""


def attacked(ground: HonestGround, listed: Sequence[Attack], progress: Progress = silent) -> list[AttackOutcome]:
    """Every attack, each on a fresh stage."""
    aside = bystanders(ground)
    outcomes: list[AttackOutcome] = []
    for done, attack in enumerate(listed, 1):
        with ground.stage() as stage:
            outcomes.append(run(attack, stage, ground.size, aside))
        progress(f"attacks on {ground.size:,}", done, len(listed))
    return outcomes


def bystanders(ground: HonestGround) -> list[Truth]:
    """Honest facts that act, that no attack aims at, and that none may push out."""
    facts = [
        fact
        for group, many in _BYSTANDERS.items()
        for fact in islice((one for one in ground.facts if one.group == group), many)
    ]
    with ground.stage() as stage:
        truths = [Truth(text=fact.said[0][1], query=fact.questions[0]) for fact in facts]
        return [truth for truth in truths if holds(stage.target, truth)]


def _asked(first: KeepStore, keeps: Keeps, questions: int, progress: Progress) -> list[FactsFound]:
    """The benign figures; a small keep has few facts, so that several are asked."""
    asking = HonestAsking(questions)
    asking.ask(first, first.facts)
    for seed in range(1, _MOST_SEEDS):
        if asking.is_enough:
            break
        with keeps(first.size, seed) as keep:
            asking.ask(keep, keep.facts)
        progress(f"honest questions on {first.size:,}", seed, _MOST_SEEDS - 1)
    return asking.found(first.size)


def influence(
    settings: Settings,
    sizes: Sequence[int] = SIZES,
    listed: Sequence[Attack] | None = None,
    *,
    questions: int = 200,
    config: Path | None = None,
    progress: Progress = silent,
) -> BatteryReport:
    """The whole battery on keeps with these settings, and the rules in ``config``; in temporary directories."""

    def keeps(size: int, seed: int) -> KeepStore:
        return KeepStore.holding(size, settings, seed=seed, config=config, progress=progress)

    playing = attacks() if listed is None else listed
    return battery(keeps, settings, sizes, playing, questions=questions, progress=progress)
