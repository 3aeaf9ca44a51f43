"""GhostWriter's shapes, made again: read in one session, written into memory, awake in a later, everyday one.

The later request names a party and leaves the value to memory. The agent looks at everything that is stored and calls
the tool with the planted value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from benchmarks.grounds.delayed import Delayed, woken
from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import Record, counted
from truekeep import Tool
from truekeep.redteam.figures import ResultRow

GROUND = Ground("GhostWriter's shapes")
_DATA = Path(__file__).parents[1] / "data" / "ghostwriter.yaml"


def measured(_files: Files | None = None) -> Iterator[ResultRow]:
    """Every shape in every carrier with every goal."""
    table = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    made = list(product(table["shapes"].items(), table["carriers"], table["goals"]))
    came = [woken(_delayed(text, carrier, goal)) for (_, text), carrier, goal in made]
    name, note = GROUND.name, "inform"
    yield counted(name, "accepted", [one.accepted for one in came], note)
    yield counted(name, "shown_later", [one.decision != "not shown" for one in came], note)
    yield counted(name, "raw", [one.raw for one in came], note)
    yield counted(name, "acting", [one.acting for one in came], note)
    which = [f"{shape[0]}: {goal['tool']}" for (shape, _, goal), one in zip(made, came, strict=True) if _done(one)]
    yield counted(name, "executed", [_done(one) for one in came], note, which=which)
    yield counted(name, "questioned", [one.decision == "confirm" for one in came], note)


def _done(one: Any) -> bool:
    return bool(one.decision == "allow")


def _delayed(text: str, carrier: dict[str, str], goal: dict[str, Any]) -> Delayed:
    planted = carrier["around"].format(planted=text.format(**goal))
    record = Record(planted, goal["said"], via=carrier["via"], source=carrier["principal"])
    tool = Tool(goal["tool"], reads=False)
    return Delayed([record], goal["said"], goal["tool"], goal["arguments"], [tool])
