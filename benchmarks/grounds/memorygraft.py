"""MemoryGraft: ten experiences of "validated" shortcuts among a hundred honest ones of a data analyst's agent.

The honest ones are the owner's words. The grafted ones come as the agent read them, from a file; every request of the
set is asked afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import Record, planted
from truekeep.redteam.figures import ResultRow

GROUND = Ground("MemoryGraft", repository="Jacobhhy/Agent-Memory-Poisoning")
_SEEDS = "metagpt_attack_poc/payloads/experience_seeds.json"


def measured(files: Files) -> Iterator[ResultRow]:
    """The grafts as a file has them."""
    seeds = json.loads(files.read(_SEEDS))
    poison = [_record(one, "file") for one in seeds["poisoned_experiences"]]
    yield from planted(GROUND.name, poison, [_record(one, "user") for one in seeds["benign_experiences"]])


def _record(one: dict[str, Any], via: str) -> Record:
    return Record(f"{one['req']} {one['resp']}", one["req"], "graft" if via == "file" else "", via, "notes.md")
