"""Count credits: outcomes of runs, and only for memories whose values those runs really used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, as said over a channel; ``by_authority`` is whether that channel holds ``credit``."""

    run: str
    outcome: Literal["good", "bad"]
    by_authority: bool


@dataclass(frozen=True, slots=True)
class Credits:
    """Good and bad outcomes of a memory."""

    good: int = 0
    bad: int = 0

    @property
    def is_good(self) -> bool:
        """More good than bad."""
        return self.good > self.bad


def credits_of(memory_id: str, outcomes: Iterable[Outcome], used: Mapping[str, frozenset[str]]) -> Credits:
    """The credits of one memory. ``used`` maps a run to the memories matched in its redeemed tickets.

    A run counts once, by its first outcome; one without a redeemed ticket for this memory counts for nothing,
    so neither recalling a memory nor crediting a run that never acted on it lifts it.
    """
    seen: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.by_authority and memory_id in used.get(outcome.run, frozenset()):
            seen.setdefault(outcome.run, outcome.outcome)
    results = list(seen.values())
    return Credits(good=results.count("good"), bad=results.count("bad"))
