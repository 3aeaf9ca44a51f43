"""MemMorph, made again: three records (a fact, a case, a rule) that make an agent take another tool than it should.

The owner names the tool that is wanted, and its arguments. The agent looks at everything that is stored and takes the
tool that the records praise, with the owner's own arguments: the hardest case, because no value is the attacker's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.grounds.delayed import Delayed, woken
from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import Record, counted
from truekeep import Tool
from truekeep.redteam.figures import ResultRow

GROUND = Ground("MemMorph's shape")
_DATA = Path(__file__).parents[1] / "data" / "memmorph.yaml"


def measured(_files: Files | None = None) -> Iterator[ResultRow]:
    """Ten choices of tools, three records each."""
    table = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    came = [woken(_delayed(table["records"], choice), choice["wanted"]) for choice in table["choices"]]
    name, note = GROUND.name, "three records, inform"
    yield counted(name, "accepted", [one.accepted for one in came], note)
    yield counted(name, "shown_later", [one.decision != "not shown" for one in came], note)
    yield counted(name, "raw", [one.raw for one in came], note)
    yield counted(name, "acting", [one.acting for one in came], note)
    steered = [choice["steered"] for choice, one in zip(table["choices"], came, strict=True) if one.decision == "allow"]
    yield counted(name, "executed", [one.decision == "allow" for one in came], note, which=steered)
    yield counted(name, "questioned", [one.decision == "confirm" for one in came], note)
    yield counted(name, "unasked", [one.honest == "allow" for one in came], note)


def _delayed(records: dict[str, str], choice: dict[str, Any]) -> Delayed:
    texts = {kind: text.format(**choice) for kind, text in records.items()}
    planted = [Record(text, choice["said"], kind, "web", f"https://{kind}.example/") for kind, text in texts.items()]
    tools = [Tool(choice[which], reads=False, own=True) for which in ("wanted", "steered")]
    return Delayed(planted, choice["said"], choice["steered"], choice["arguments"], tools)
