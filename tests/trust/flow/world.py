"""Build a session's evidence from plain lists, as the cases in the data files give them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from truekeep.trust.flow.decide import CallJudgement, judge
from truekeep.trust.flow.evidence import SessionEvidence
from truekeep.trust.flow.results import take_result
from truekeep.trust.flow.tools import Tool, tool_for

NOW = datetime(2027, 3, 8, 10, 0)  # a Monday


def evidence(
    *,
    memories: list[str] | None = None,
    hearsay: list[str] | None = None,
    notes: list[str] | None = None,
    foreign: list[str] | None = None,
    messages: list[str] | None = None,
    tools: list[Tool] | None = None,
    results: list[tuple[str, Any]] | None = None,
) -> SessionEvidence:
    made = SessionEvidence(now=NOW, clean=not foreign)
    made.tools = {tool.name: tool for tool in tools or ()}
    for index, texts in ((made.memories, memories), (made.hearsay, hearsay), (made.notes, notes)):
        for place, text in enumerate(texts or ()):
            index.add(f"m{place}", text, at=NOW - timedelta(days=90 - place))
    for place, text in enumerate(foreign or ()):
        made.foreign.add(f"f{place}", text, origin=f"page-{place}", at=NOW)
    for text in messages or ():
        made.requests.add(text, NOW)
    for place, (name, result) in enumerate(results or ()):
        observe(made, f"r{place}", name, result)
    return made


def observe(made: SessionEvidence, key: str, name: str, result: Any) -> None:
    tool = tool_for(name, made.tools)
    taken = take_result(tool, result)
    made.records.add(taken)
    if tool.own:
        made.private.add(key, taken.whole, at=NOW)
    if taken.is_tainting:
        made.clean = False
        made.foreign.add(key, "\n".join(taken.taints), origin=name, at=NOW)


def judged(case: Mapping[str, Any]) -> CallJudgement:
    made = evidence(
        **{key: list(case.get(key, ())) for key in ("memories", "hearsay", "notes", "foreign", "messages")},
        tools=[Tool(**tool) for tool in case.get("tools", ())],
        results=[(row["name"], row["result"]) for row in case.get("results", ())],
    )
    return judge(made, case["call"], case.get("arguments", {}))
