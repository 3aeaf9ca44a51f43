"""The story as it is written down: scenes of steps, each one verb with its details, checked when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from itertools import pairwise
from typing import Any

import yaml

VERBS = frozenset(
    {
        "policy",
        "rule",
        "enrol",
        "remember",
        "change",
        "forget",
        "session",
        "observe",
        "recall",
        "snapshot",
        "act",
        "credit",
        "approve",
        "reject",
        "revoke",
        "undo",
        "end",
    }
)
_BETWEEN = timedelta(minutes=2, seconds=20)
"""What passes between the steps of a scene."""


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One thing that happens: what, to whom, with which details, and how long after the story's first midnight."""

    verb: str
    what: Any
    details: Mapping[str, Any]
    after: timedelta


@dataclass(frozen=True, slots=True)
class Script:
    """The whole story, in order."""

    keep: str
    days: int
    steps: tuple[StoryStep, ...]

    def begins(self, now: datetime) -> datetime:
        """The story's first midnight, so that its last day is over by now."""
        return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=self.days)


def demo_file(name: str) -> str:
    """A file of the demo's data."""
    return (resources.files("truekeep") / "data" / "demo" / name).read_text("utf-8")


def read_script(text: str | None = None) -> Script:
    """The script in a YAML text; the one that comes with truekeep if none is given."""
    told = yaml.safe_load(demo_file("story.yaml") if text is None else text)
    steps = tuple(step for scene in told["scenes"] for step in _steps(scene))
    if any(late.after < early.after for early, late in pairwise(steps)):
        raise ValueError("a scene of the story begins before the one before it is over")
    if steps[-1].after > timedelta(days=told["days"]):
        raise ValueError("the story goes on after its last day")
    return Script(told["keep"], told["days"], steps)


def _steps(scene: Mapping[str, Any]) -> Iterator[StoryStep]:
    hours, minutes = map(int, scene["at"].split(":"))
    begins = timedelta(days=scene["day"], hours=hours, minutes=minutes)
    for place, step in enumerate(scene["steps"]):
        verb, what = next(iter(step.items()))
        if verb not in VERBS:
            raise ValueError(f"the story has no verb for a step of day {scene['day']}")
        details = {name: value for name, value in step.items() if name != verb}
        yield StoryStep(verb, what, details, begins + place * _BETWEEN)
