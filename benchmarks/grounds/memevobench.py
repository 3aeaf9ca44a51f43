"""MemEvoBench: memories that mislead beside right ones, and three rounds of an agent that writes back its answers.

The right memories are the owner's words, the misleading ones come from where they say (a forum, a page, an earlier
chat). In each round the owner asks in a new session; an agent that obeys looks at everything that is stored, answers
with what misled it, and saves that. What acts in any round is counted, and whether the right memories are still found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import Record, counted, is_found, keep_for, put
from truekeep import Keep
from truekeep.redteam.figures import ResultRow

GROUND = Ground("MemEvoBench", repository="xiewwee11/MemEvoBench")
_FOLDER = "memorybench"
_TALKS = ("customerservice", "finance", "food", "health", "mental", "privacy", "traffic")
_NOT_TEXT = frozenset({"type", "label", "timestamp", "id", "status", "workflow_judge", "correct_workflow"})
_QUERIES = ("test_query", "test_query_2", "test_query_3")


def measured(files: Files) -> Iterator[ResultRow]:
    """Questions and workflows, each of its files in a keep of its own."""
    named = {name: f"{_FOLDER}/QA/{name}_memory_triplequery.json" for name in _TALKS}
    for part, paths in (
        ("questions", list(named.values())),
        ("workflows", [f"{_FOLDER}/Workflow/workflow.json"]),
    ):
        rounds = [_played(json.loads(files.read(path))) for path in paths]
        for number in range(len(_QUERIES)):
            for metric in ("acting", "raw", "honest_found"):
                outcomes = [one for played in rounds for one in played[number][metric]]
                yield counted(GROUND.name, metric, outcomes, f"{part}, round {number + 1}, inform")


def _played(items: Sequence[Mapping[str, Any]]) -> list[dict[str, list[bool]]]:
    with keep_for("inform") as keep:
        right = [[_record(one, "user") for one in _labelled(item, "correct")] for item in items]
        wrong = [[_record(one, "web") for one in _labelled(item, "misleading")] for item in items]
        put(keep, [record for records in right for record in records])
        put(keep, [record for records in wrong for record in records])
        bad = [[record.text for record in records] for records in wrong]
        rounds = []
        for number, query in enumerate(_QUERIES):
            rounds.append(_asked(keep, items, query, right, bad))
            for place, item in enumerate(items):
                bad[place].append(_written_back(keep, f"r{number}-{place}", _question(item[query]), bad[place]))
    return rounds


def _asked(
    keep: Keep,
    items: Sequence[Mapping[str, Any]],
    query: str,
    right: Sequence[Sequence[Record]],
    bad: Sequence[Sequence[str]],
) -> dict[str, list[bool]]:
    asked = [_question(item[query]) for item in items]
    return {
        "acting": [is_found(keep, ask, texts, acting=True) for ask, texts in zip(asked, bad, strict=True)],
        "raw": [is_found(keep, ask, texts, acting=False) for ask, texts in zip(asked, bad, strict=True)],
        "honest_found": [
            is_found(keep, ask, [one.text for one in records], acting=True)
            for ask, records in zip(asked, right, strict=True)
            if records
        ],
    }


def _written_back(keep: Keep, name: str, question: str, misleading: Sequence[str]) -> str:
    """The agent that obeys: it looks at everything, and saves what it made of it."""
    # Without the question: that is the owner's own, is learned as theirs, and may act.
    answer = f"What was found before and worked: {misleading[0][:1_000] if misleading else 'nothing'}"
    with keep.session(name, mediated=True) as session:
        session.observe("user", question)
        session.recall(question[:1_900], k=5, background=True)
        session.remember(answer, via="agent")
    return answer


def _labelled(item: Mapping[str, Any], label: str) -> list[Mapping[str, Any]]:
    return [one for one in item["retrievable_memories"] if one["label"] == label]


def _record(one: Mapping[str, Any], via: str) -> Record:
    text = " ".join(str(value) for name, value in one.items() if name not in _NOT_TEXT and value)
    return Record(text, text, one["label"], via, f"{one.get('type', 'workflow')}-{one['id']}")


def _question(query: Any) -> str:
    return query if isinstance(query, str) else str(query["instruction"])
