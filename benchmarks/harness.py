"""The harness: interleaved repetitions, medians of CPU time, figures with the bound they must keep."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured figure. ``bound`` is what it must not exceed; without one it is only reported."""

    name: str
    value: float
    unit: str
    bound: float | None = None
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.bound is None or self.value <= self.bound


def cpu_per_call(calls: Mapping[str, Callable[[], object]], *, rounds: int, repeat: int) -> dict[str, list[float]]:
    """Seconds of CPU per call for each of several things, measured by turns so that noise hits all alike."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.process_time()
            for _ in range(repeat):
                call()
            found[name].append((time.process_time() - started) / repeat)
    return found


def median_ratio(numerator: list[float], denominator: list[float]) -> float:
    """The median over rounds of the ratio within each round."""
    return statistics.median(over / under for over, under in zip(numerator, denominator, strict=True))
