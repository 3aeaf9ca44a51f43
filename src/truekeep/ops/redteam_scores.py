"""The red team's last results, kept beside the data so that the console can show how this home fared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep import disk
from truekeep.stores.keyfile import replace_entry
from truekeep.types import utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.config import Paths

INFLUENCE, SCREEN = "influence", "screen"
_FILE, _VERSION, _MAX_BYTES = "redteam.json", 1, 100_000


@dataclass(frozen=True, slots=True)
class Figure:
    """So many of so many, under a name that is part of the program."""

    name: str
    count: int
    of: int


@dataclass(frozen=True, slots=True)
class Score:
    """One run: when, under which conditions, and its figures."""

    kind: str
    at: datetime
    held: bool
    """Whether no attack got anything."""
    conditions: Mapping[str, str]
    figures: tuple[Figure, ...]


def note(paths: Paths, score: Score) -> None:
    """Put a run in the place of the last one of its kind."""
    runs = {kind: _members(one) for kind, one in last(paths).items()} | {score.kind: _members(score)}
    paths.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_entry(paths.data / _FILE, {"truekeep": "redteam", "version": _VERSION, "runs": runs})


def last(paths: Paths) -> dict[str, Score]:
    """The last run of each kind. It is a figure on a page: one that cannot be read is as good as none."""
    try:
        runs = json.loads(disk.read(paths.data / _FILE, _MAX_BYTES))["runs"]
        return {kind: _score(kind, runs[kind]) for kind in (INFLUENCE, SCREEN) if kind in runs}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _members(score: Score) -> dict[str, Any]:
    return {
        "at": utc_text(score.at),
        "held": score.held,
        "conditions": dict(score.conditions),
        "figures": [[one.name, one.count, one.of] for one in score.figures],
    }


def _score(kind: str, members: Mapping[str, Any]) -> Score:
    figures = tuple(Figure(str(name), int(count), int(of)) for name, count, of in members["figures"])
    conditions = {str(name): str(value) for name, value in members["conditions"].items()}
    return Score(kind, utc_moment(members["at"]), members["held"] is True, conditions, figures)
