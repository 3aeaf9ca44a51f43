"""The harness: interleaved repetitions, medians of CPU time, figures with the bound they must keep."""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

import truekeep


@dataclass(frozen=True)
class Figure:
    """One measured figure: not above ``bound``, not below ``least``; without either it is only reported."""

    name: str
    value: float
    unit: str
    bound: float | None = None
    note: str = ""
    least: float | None = None

    @property
    def ok(self) -> bool:
        return (self.bound is None or self.value <= self.bound) and (self.least is None or self.value >= self.least)

    @property
    def limit(self) -> str:
        """What it must keep to, in words."""
        if self.least is not None:
            return f"≥ {self.least:g} {self.unit}".rstrip()
        return "" if self.bound is None else f"≤ {self.bound:g} {self.unit}".rstrip()

    @property
    def state(self) -> str:
        """Whether it does."""
        return ("ok" if self.ok else "MISSED") if self.limit else ""


def cpu_per_call(calls: Mapping[str, Callable[[], object]], *, rounds: int, repeat: int) -> dict[str, list[float]]:
    """Seconds of CPU per call for each of several things, measured by turns so that noise hits all alike."""
    return _per_call(calls, rounds, repeat, time.process_time)


def wall_per_call(calls: Mapping[str, Callable[[], object]], *, rounds: int, repeat: int) -> dict[str, list[float]]:
    """The same in seconds by the wall: for what waits for the disk, which costs no CPU."""
    return _per_call(calls, rounds, repeat, time.perf_counter)


def _per_call(
    calls: Mapping[str, Callable[[], object]], rounds: int, repeat: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            started = clock()
            for _ in range(repeat):
                call()
            found[name].append((clock() - started) / repeat)
    return found


def table(figures: Iterable[Figure]) -> Table:
    """The figures beside what they must keep to."""
    rows = Table("figure", "measured", "bound", "")
    for figure in figures:
        rows.add_row(figure.name, f"{figure.value:.3g} {figure.unit}", figure.limit, figure.state or figure.note)
    return rows


def fingerprint(*measuring: Path) -> str:
    """A name for the code that is measured and for what measures it, under which a long run keeps what it has."""
    whole = hashlib.sha256()
    for root in (Path(truekeep.__file__).parent, *measuring):
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix in (".py", ".toml", ".yaml"):
                whole.update(path.read_bytes())
    return whole.hexdigest()[:12]


class Noise:
    """How much the machine's other work disturbs: the time of one fixed piece of work, taken again and again."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def sample(self) -> None:
        """Do the fixed work once more."""
        started = time.process_time()
        total = 0
        for number in range(100_000):
            total += number % 7
        self.times.append(time.process_time() - started)

    def __str__(self) -> str:
        slowest, middle = max(self.times) / min(self.times), statistics.median(self.times) / min(self.times)
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        spread = f"fixed work took {middle:.2f} times its quickest in the middle and {slowest:.2f} times at worst"
        return f"{spread}; load {load} on {os.cpu_count()} cores"


def median_ratio(numerator: list[float], denominator: list[float]) -> float:
    """The median over rounds of the ratio within each round."""
    return statistics.median(over / under for over, under in zip(numerator, denominator, strict=True))
