"""Runs the steps of a measurement one after another, saving after each, so that a long run can be taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from truekeep.config import Settings
from truekeep.redteam.defences.environments import CannotRun
from truekeep.redteam.influence.arena import Progress, silent
from truekeep.redteam.results import Results
from truekeep.redteam.row import Row


@dataclass(frozen=True, slots=True)
class Ground:
    """What every step is given."""

    settings: Settings
    """As they are configured."""
    config: Path | None
    """The directory whose settings and rules the attacked keeps have."""
    cache: Path
    """Where fetched models, environments and vectors are kept for the next time."""
    progress: Progress = silent

    @property
    def informed(self) -> Settings:
        """The settings under which hearsay is stored and comes up: whatever guards it comes after that."""
        return self.settings.with_policy("inform")


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement under a name that results are filed under."""

    name: str
    measure: Callable[[Ground], Iterable[Row]]


def carry_out(
    steps: Sequence[Step], ground: Ground, results: Results, *, saved: Path | None = None, again: bool = False
) -> Results:
    """Carry the steps out; those whose results are there already only if asked again."""
    for number, step in enumerate(steps, 1):
        if step.name in results.cpu and not again:
            continue
        ground.progress(f"step {step.name}", number, len(steps))
        started = _cpu()
        try:
            results.put(step.name, list(step.measure(ground)), _cpu() - started)
        except CannotRun as reason:
            results.leave_out(step.name, str(reason))
        if saved is not None:
            results.save(saved)
    return results


def _cpu() -> float:
    """CPU time of this process; that of workers is not in it."""
    return time.process_time()
