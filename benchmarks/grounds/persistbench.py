"""PersistBench: what a person's memories must not leak into (other domains, flattery), and where they must help.

Its own scores are a model's answers, judged by a model. What a memory layer decides is what the model is shown: all of
a row's memories in its own prompt, the best five here. Counted is how much of them is shown, and that all are taken in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import PART, Record, counted, keep_for, put
from truekeep.redteam.figures import ResultRow

GROUND = Ground("PersistBench", package="inspect-evals==0.26.0")
_FOLDER = "inspect_evals/persistbench/benchmark_samples"
_SETS = {"cross_domain": "other domains", "sycophancy": "flattery", "beneficial_samples": "should help"}
_ROWS = 40


def measured(files: Files) -> Iterator[ResultRow]:
    """A person's keep for each row, of the first forty rows of each set."""
    for name, words in _SETS.items():
        listed = [json.loads(line) for line in files.read(f"{_FOLDER}/{name}.jsonl").splitlines() if line][:_ROWS]
        shown, said, came = 0, 0, list[str]()
        for row in listed:
            with keep_for("strict") as keep:
                memories = row["memories"]
                came += put(keep, [Record(text, text, via="user") for text in memories])
                with keep.session("later", mediated=True) as session:
                    session.observe("user", row["query"][:7_900])
                    shown += len(session.recall(row["query"][:1_900], k=5))
                said += len(memories)
        yield counted(GROUND.name, "honest_refused", [one != "accepted" for one in came], words)
        yield ResultRow(part=PART, metric="shown", hits=shown, total=said, attack=GROUND.name, note=words)
