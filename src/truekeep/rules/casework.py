"""Run rules against their own test cases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from truekeep.rules.engine import Engine
from truekeep.rules.events import Event
from truekeep.rules.model import Case, Rule

_KINDS = {
    "llm_io": "llm_input",
    "tool_call": "tool_call",
    "mcp_exchange": "tool_response",
    "agent_behavior": "agent_behavior",
    "multi_agent_comm": "multi_agent_message",
    "context_window": "memory_read",
    "memory_access": "memory_write",
    "skill_lifecycle": "tool_call",
    "skill_permission": "tool_call",
    "skill_chain": "tool_call",
}


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """How one case went. ``fired`` is ``None`` when the rule's method cannot be evaluated here."""

    rule: Rule
    case: Case
    number: int
    fired: bool | None

    @property
    def result(self) -> Literal["passed", "failed", "skipped"]:
        """Whether the rule did what the case expects of it."""
        if self.fired is None:
            return "skipped"
        return "passed" if self.fired == self.case.fires else "failed"


def run_cases(rules: Iterable[Rule]) -> Iterator[CaseOutcome]:
    """Every case of every rule, each rule on its own, drafts and retired rules included."""
    for rule in rules:
        if rule.skipped:
            yield from (CaseOutcome(rule, case, number, None) for number, case in enumerate(rule.cases))
            continue
        # On its own a rule needs no prefilter, and its own maturity does not matter.
        engine = Engine([replace(rule, lane="enforce", needs_confirmation=False)], prefilter="portable", spans=False)
        for number, case in enumerate(rule.cases):
            yield CaseOutcome(rule, case, number, fires(engine, rule, case))


def fires(engine: Engine, rule: Rule, case: Case) -> bool:
    """Whether ``rule`` fires on ``case`` in any of the shapes the case can honestly take."""
    return any(match.rule.id == rule.id for event in events_of(rule, case) for match in engine.scan(event).matches)


def events_of(rule: Rule, case: Case) -> Iterator[Event]:
    """The event a case stands for, and the same text as a skill file."""
    fields, trace = _fields(rule, case)
    yield Event(_KINDS.get(rule.source, "llm_input"), fields, metrics=_metrics(rule, fields), trace=trace)
    text = fields.get("user_input") or fields.get("tool_response") or fields.get("agent_output")
    if text:
        yield Event("skill", {"content": text})


def _fields(rule: Rule, case: Case) -> tuple[dict[str, str], Mapping[str, Any] | None]:
    members = dict(case.members)
    given = members.get("input", members.get("user_input"))
    named = {key: _text(members.get(key)) for key in ("tool_name", "tool_args", "tool_response")}
    call = members.get("tool_call")
    for source, renamed in ((call, {"name": "tool_name", "args": "tool_args"}), (given, {"response": "tool_response"})):
        if isinstance(source, Mapping):
            for key, value in source.items():
                target = renamed.get(key, key)
                if target in named and not named[target]:
                    named[target] = _text(value)
    if isinstance(given, Mapping):
        words = named["tool_args"] or ("" if named["tool_response"] else _text(given))
    else:
        words = _text(given)
    others = {key: _text(members.get(key)) for key in ("agent_output", "tool_description", "content")}
    first = named["tool_response"] if rule.source == "mcp_exchange" else ""
    content = first or next((text for text in (words, *_rest(others, named)) if text), "")
    fields = {
        "user_input": words,
        "tool_args": named["tool_args"] or words,
        "tool_response": named["tool_response"],
        "tool_name": named["tool_name"],
        "agent_output": others["agent_output"],
        "tool_description": others["tool_description"],
        "agent_message": content,
        "content": content,
    }
    return {key: text for key, text in fields.items() if text}, _trace(rule, given)


def _rest(others: Mapping[str, str], named: Mapping[str, str]) -> tuple[str, ...]:
    return (others["tool_description"], others["content"], named["tool_response"], others["agent_output"])


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """Read-only YAML values as what JSON can write."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _trace(rule: Rule, given: Any) -> Mapping[str, Any] | None:
    if rule.method != "trace":
        return None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return None
    return given if isinstance(given, Mapping) and "spans" in given else None


def _metrics(rule: Rule, fields: Mapping[str, str]) -> dict[str, float]:
    """What the case says a stream's window held. Exempt or cooling down, the host would not have reported it."""
    names = [condition.metric for condition in rule.conditions if condition.metric]
    if rule.method != "behavioral" or not names:
        return {}
    try:
        window = json.loads(fields.get("content", ""))
    except ValueError:
        return {}
    value = window.get("metric_value") if isinstance(window, dict) else None
    if not isinstance(value, (int, float)) or window.get("in_cooldown") or window.get("attributes"):
        return {}
    return {names[0]: float(value)}
