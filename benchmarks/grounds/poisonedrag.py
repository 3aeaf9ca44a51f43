"""PoisonedRAG: for each of 300 questions, five passages that a model wrote to make a wrong answer win."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import Record, planted
from truekeep.redteam.figures import ResultRow

GROUND = Ground("PoisonedRAG", repository="sleeepeer/PoisonedRAG")
_SETS = ("nq", "hotpotqa", "msmarco")


def measured(files: Files) -> Iterator[ResultRow]:
    """All three of its question sets in one keep; the right answers are the owner's words."""
    poison, honest = [], []
    for name in _SETS:
        for row in json.loads(files.read(f"results/adv_targeted_results/{name}.json")).values():
            question = row["question"]
            poison += [Record(text, question, name) for text in row["adv_texts"]]
            honest.append(Record(f"{question}? {row['correct answer']}.", question, name, "user"))
    yield from planted(GROUND.name, poison, honest)
