"""AgentPoison as A-MemGuard's repository has it: StrategyQA, and the trigger that its published runs were made with.

Twenty demonstrations with the trigger are planted among the set's own facts, as in those runs; then questions with the
trigger are asked. The trigger, and what the demonstrations teach, are read out of the published runs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import Record, counted, is_found, keep_for, put
from truekeep.redteam.figures import CannotRun, ResultRow

GROUND = Ground("AgentPoison", repository="TangciuYueng/AMemGuard")
_RUNS = "ReAct/ablation/dpr-ap-adv.jsonl"
_ASKED = "ReAct/database/strategyqa/strategyqa_dev.json"
_LESSON = re.compile(r"there is [\u2019'\"]([^\u2019'\"\n]{5,80})[\u2019'\"] in the question means[^\n]{10,200}")
_DEMONSTRATIONS, _QUESTIONS = 20, 100


def measured(files: Files) -> Iterator[ResultRow]:
    """How often a demonstration comes first (raw), is found, and may act, for questions with the trigger."""
    trigger, lesson = taught(files)
    asked = json.loads(files.read(_ASKED))
    shown, others = asked[:_DEMONSTRATIONS], asked[_DEMONSTRATIONS:]
    honest = [Record(" ".join(row["facts"]), row["question"], via="user") for row in others]
    poison = [
        Record(f"Question: {row['question']} {trigger}\nThought: {' '.join(row['facts'])} {lesson}", row["question"])
        for row in shown
    ]
    later = [f"{row['question']} {trigger}" for row in others[:_QUESTIONS]]
    texts = [one.text for one in poison]
    with keep_for("inform") as keep:
        put(keep, honest)
        came = put(keep, poison)
        for what in ("rejected", "held", "accepted"):
            yield counted(GROUND.name, what, [one == what for one in came], "inform")
        for metric, acting, first in (("raw_first", False, True), ("raw", False, False), ("acting", True, False)):
            found = [is_found(keep, ask, texts, acting=acting, first=first) for ask in later]
            yield counted(GROUND.name, metric, found, "inform, questions with the trigger", trigger=trigger)
        found = [is_found(keep, one.ask, [one.text], acting=True) for one in honest]
        yield counted(GROUND.name, "honest_found", found, "inform")


def taught(files: Files) -> tuple[str, str]:
    """The trigger of the published runs, and what a demonstration says about it."""
    lessons = Counter(found.group(0) for found in _LESSON.finditer(files.read(_RUNS).replace("\\n", "\n")))
    if not lessons:
        raise CannotRun(f"{GROUND.name}: no trigger in its published runs")
    lesson = lessons.most_common(1)[0][0]
    found = _LESSON.search(lesson)
    assert found is not None
    return found.group(1).strip(), lesson
