"""Runs of many random cases: they go on where the last one stopped, and write down whatever breaks."""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz import gate
from tests.fuzz.sequences import sequence
from tests.fuzz.watching import Finding
from tests.fuzz.world import World

SEQUENCES = 15
"""Sequences on one keep, one after another, before it is closed, opened and verified."""


@dataclass
class Progress:
    """How far a run has come. Kept in a file, so that a long run can be stopped and taken up again."""

    next: int = 0
    cpu: float = 0.0
    findings: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Progress:
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, path: Path) -> None:
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self), indent=1))
        draft.replace(path)


def texts(home: Path, first: int, last: int) -> Iterator[tuple[int, Any, Finding | None]]:
    """Random texts through the gate: each with what it broke, if it did."""
    while first < last:
        seeds = range(first, min(last, (first // gate.BATCH + 1) * gate.BATCH))
        seed, arguments = first, dict[str, Any]()
        try:
            for arguments, seed in gate.batch(home, seeds):
                yield seed, arguments, None
            first = seeds.stop
        except Finding as found:
            yield seed, arguments, found
            first = seed + 1


def sequences(home: Path, first: int, last: int) -> Iterator[tuple[int, Any, Finding | None]]:
    """Random sequences of calls: each with what it broke, if it did."""
    world, done = _world(home, first), list[Any]()
    for seed in range(first, last):
        made = sequence(seed)
        done += made
        found: Finding | None = None
        try:
            world.carry_out(made)
            if seed % SEQUENCES == SEQUENCES - 1:
                world.settle()
        except Finding as broken:
            found = broken
        yield seed, done, found
        if found is not None or seed % SEQUENCES == SEQUENCES - 1:
            world.keep.destroy(confirm=world.keep.name)
            world, done = _world(home, seed + 1), []
    world.keep.destroy(confirm=world.keep.name)


def _world(home: Path, seed: int) -> World:
    return World(home, f"fuzz-{seed}", ("inform", "strict")[seed // SEQUENCES % 2])


KINDS: dict[str, Callable[[Path, int, int], Iterator[tuple[int, Any, Finding | None]]]] = {
    "texts": texts,
    "sequences": sequences,
}


def run(kind: str, until: int, seconds: float, state: Path, told: Callable[[str], None]) -> Progress:
    """Go on with a run until so many cases are done or so much CPU time has passed."""
    progress = Progress.load(state)
    shared = Path("/dev/shm")  # noqa: S108 - a place in memory: what is tested here is not the disk
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        for _ in KINDS[kind](Path(folder) / "warm", 0, 3):
            pass  # what is loaded once counts for no case
        gc.collect()
        gc.freeze()  # nor does a look through the garbage of all tests that ran before in this process
        started = shown = time.process_time()
        for seed, case, found in KINDS[kind](Path(folder) / "home", progress.next, until):
            if found is not None:
                progress.findings.append({"seed": seed, "what": str(found), "case": case})
                told(f"{kind} {seed}: {found}")
            progress.next = seed + 1
            now = time.process_time()
            if found is not None or now - shown > 20:
                progress.cpu += now - shown
                shown = now
                progress.save(state)
                told(f"{progress.next:,} {kind}, {len(progress.findings)} findings, {progress.cpu:,.0f} s of CPU")
            if now - started > seconds:
                break
        gc.unfreeze()
        progress.cpu += time.process_time() - shown
        progress.save(state)
        shutil.rmtree(Path(folder) / "home", ignore_errors=True)
    return progress
