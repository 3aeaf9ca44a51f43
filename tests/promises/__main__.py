"""The long profile: ``python -m tests.promises 50000``; ``--seconds`` takes a slice, and it goes on where it stopped.

Each round is a machine of one world with a seed of its own, so that a round that finds something can be repeated:
``--only ROUND``. With ``--store`` the keeps are in the PostgreSQL database of that connection string.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.promises import machine, side
from tests.promises.machine import machine_for
from tests.promises.world import ALONE, INFORMED, SHARED

WORLDS = (ALONE, INFORMED, SHARED)
ROUND = settings(
    max_examples=10,
    stateful_step_count=50,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
_LONGEST = 12_000
"""Characters of a finding that are kept: the whole sequence, as a rule."""


@dataclass
class Progress:
    """How far a run has come."""

    round: int = 0
    steps: dict[str, int] = field(default_factory=dict)
    cpu: float = 0.0
    findings: list[dict[str, object]] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Progress:
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, path: Path) -> None:
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self), indent=1))
        draft.replace(path)


def play(number: int) -> tuple[str, int, str]:
    """One round: its world, the steps it took, and the sequence that broke a promise, if one did."""
    world, begun, found = WORLDS[number % len(WORLDS)], machine.steps_taken, ""
    try:
        run_state_machine_as_test(seed(number)(machine_for(world)), settings=ROUND)
    except Exception as error:
        notes = getattr(error, "__notes__", [])
        found = "\n".join([f"{type(error).__name__}: {error}", *notes])[:_LONGEST]
    return world.name, machine.steps_taken - begun, found


def run(until: int, seconds: float, state: Path) -> Progress:
    """Go on with a run until so many steps are taken or so much CPU time has passed."""
    progress, started = Progress.load(state), time.process_time()
    while sum(progress.steps.values()) < until and time.process_time() - started < seconds:
        before = time.process_time()
        name, steps, found = play(progress.round)
        if found:
            progress.findings.append({"round": progress.round, "world": name, "what": found})
            print(f"round {progress.round}, {name}: {found}", flush=True)
        progress.steps[name] = progress.steps.get(name, 0) + steps
        progress.round += 1
        progress.cpu += time.process_time() - before
        progress.save(state)
        total = sum(progress.steps.values())
        print(f"{total:,} steps, {len(progress.findings)} findings, {progress.cpu:,.0f} s of CPU", flush=True)
        gc.collect()
    return progress


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.promises", description=__doc__)
    parser.add_argument("until", type=int, help="how many steps there are to be in the end")
    parser.add_argument("--seconds", type=float, default=1e9, help="of CPU time, at most")
    parser.add_argument("--state", type=Path, default=Path("promises.json"), help="where the run is kept")
    parser.add_argument("--store", default="", help="a PostgreSQL connection string")
    parser.add_argument("--only", type=int, help="play this round again, and nothing else")
    given = parser.parse_args()
    os.environ["TRUEKEEP_EMBEDDER"] = "none"
    side.stores[-1] = given.store
    if given.only is not None:
        name, steps, found = play(given.only)
        print(f"{name}: {steps} steps\n{found}")
        return 1 if found else 0
    progress = run(given.until, given.seconds, given.state)
    print(f"{progress.steps}, {len(progress.findings)} findings, kept in {given.state}")
    return 1 if progress.findings else 0


if __name__ == "__main__":
    sys.exit(main())
