"""memshield-bench: 322 poisoned memories of ten kinds beside 856 clean ones (mostly facts of StrategyQA).

The poisoned ones come as pages; and once more in the owner's own voice, which nothing here promises to stop, to see
what the screens alone hold. The clean ones are the owner's words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import Record, counted, keep_for, planted, put
from truekeep.redteam.figures import ResultRow

GROUND = Ground("memshield-bench", repository="npow/memshield")
_ROWS = "memshield-bench/data/full.jsonl"


def measured(files: Files) -> Iterator[ResultRow]:
    """By kind of attack: rejected, held, accepted, acting."""
    poison, clean = rows(files)
    yield from planted(GROUND.name, poison, clean)
    with keep_for("strict") as keep:
        came = put(keep, [replace(record, via="user") for record in poison])
        for what in ("rejected", "held", "accepted"):
            yield counted(GROUND.name, what, [one == what for one in came], "in the owner's own voice, strict")


def rows(files: Files) -> tuple[list[Record], list[Record]]:
    """The poisoned and the clean ones."""
    listed = [json.loads(line) for line in files.read(_ROWS).splitlines() if line]
    poison = [_record(row, "web") for row in listed if row["label"] == "poisoned"]
    return poison, [_record(row, "user") for row in listed if row["label"] == "clean"]


def _record(row: dict[str, str], via: str) -> Record:
    return Record(row["content"], row["content"], row["attack_type"], via)
