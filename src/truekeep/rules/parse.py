"""Turn one rule document into a :class:`Rule`, collecting every fault instead of stopping at the first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from truekeep.rules import pattern
from truekeep.rules.cases import read_cases
from truekeep.rules.conditions import read_behaviour, read_conditions
from truekeep.rules.expression import Expression
from truekeep.rules.model import Condition, Fault, Lane, Rule
from truekeep.rules.source import Map
from truekeep.types import Response, Severity, Threat

# Ids are printed into prompts ("matched pattern(s): <ids>"), so they are words and nothing else.
SAFE_ID = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+){0,9}\Z")
MAX_ID = 64
"""An id is printed into prompts and logs."""
STATUSES = frozenset({"draft", "experimental", "stable", "deprecated"})
MATURITIES = frozenset({"draft", "experimental", "test", "stable", "deprecated"})
METHODS = frozenset({"pattern", "semantic", "signature", "behavioral", "trace"})
SCHEMAS = frozenset({"0.1", "1.0", "1.1"})
SOURCES = frozenset(
    [
        "llm_io",
        "tool_call",
        "mcp_exchange",
        "agent_behavior",
        "multi_agent_comm",
        "context_window",
        "memory_access",
        "skill_lifecycle",
        "skill_permission",
        "skill_chain",
        "agent_trace",
    ]
)
CATEGORIES = frozenset(
    [
        "prompt-injection",
        "tool-poisoning",
        "context-exfiltration",
        "agent-manipulation",
        "privilege-escalation",
        "excessive-autonomy",
        "data-poisoning",
        "model-abuse",
        "skill-compromise",
    ]
)
_LANES: dict[str, Lane] = {"stable": "enforce", "test": "alert", "experimental": "hunt"}
_THREATS = {"prompt-injection": Threat.INJECTION, "context-exfiltration": Threat.EXFILTRATION}
_SEVERITIES = {severity.label: severity for severity in Severity} | {"informational": Severity.INFO}
_NOTHING = Expression("or")


class ParseReport:
    """Collects the faults of one document; ``failed`` once any of them is an error."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.rule_id = ""
        self.faults: list[Fault] = []

    def error(self, line: int, reason: str) -> None:
        """Record something that keeps the rule from loading."""
        self.faults.append(Fault(self.file, line, reason, "error", self.rule_id))

    def warn(self, line: int, reason: str) -> None:
        """Record something that a rule's author should know but that does not stop it."""
        self.faults.append(Fault(self.file, line, reason, "warning", self.rule_id))

    @property
    def failed(self) -> bool:
        """Whether the rule cannot be used."""
        return any(fault.severity == "error" for fault in self.faults)


def parse_rule(document: Any, file: str, *, check_patterns: bool = True) -> tuple[Rule | None, tuple[Fault, ...]]:
    """The rule in ``document``, or ``None`` with the faults that say why not."""
    report = ParseReport(file)
    if not isinstance(document, Map):
        report.error(1, "a rule file holds one map with id, title and detection")
        return None, tuple(report.faults)
    rule = _Reader(document, report).rule()
    if check_patterns:
        _check_patterns(rule.conditions, report)
    return (None if report.failed else rule), tuple(report.faults)


class _Reader:
    """Reads the members of one rule document in the order a person would."""

    def __init__(self, document: Map, report: ParseReport) -> None:
        self._doc = document
        self._report = report

    def rule(self) -> Rule:
        doc, report = self._doc, self._report
        report.rule_id = rule_id = self._id()
        tags, detection = self._map("tags"), self._map("detection", required=True)
        conditions, expression, combination = read_conditions(detection, report)
        if detection.get("method") == "behavioral" and isinstance(detection.get("behavioral"), Map):
            conditions, expression = read_behaviour(detection["behavioral"], report)
        method, skipped = self._method(detection, conditions)
        status = self._choice("status", STATUSES, "experimental")
        maturity = self._choice("maturity", MATURITIES, "stable" if status == "stable" else "experimental")
        actions = self._actions()
        return Rule(
            id=rule_id,
            title=self._text("title", required=True),
            description=self._text("description"),
            severity=_SEVERITIES[self._choice("severity", frozenset(_SEVERITIES), "medium")],
            status=status,
            maturity=maturity,
            lane=_lane(status, maturity),
            threat=self._threat(tags),
            response=response_of(actions),
            scopes=self._scopes(tags),
            source=self._source(),
            conditions=conditions,
            expression=expression or _NOTHING,
            combination=combination,
            cases=read_cases(doc, report),
            method=method,
            skipped=skipped,
            actions=actions,
            category=str(tags.get("category") or ""),
            subcategory=str(tags.get("subcategory") or ""),
            confidence=str(tags.get("confidence") or "medium"),
            scan_target=str(tags.get("scan_target") or ""),
            spares_code_blocks=tags.get("suppress_in_code_blocks") is True,
            needs_confirmation=bool(doc.get("confirm")),
            references=frozen(self._map("references")),
            compliance=frozen(self._map("compliance")),
            trace=frozen(detection.get("trace") or {}),
            signature=frozen(detection.get("signature") or {}),
            tags=frozen(tags),
            message_template=str(self._map("response").get("message_template") or ""),
            author=str(doc.get("author") or ""),
            date=str(doc.get("date") or ""),
            schema_version=self._schema(),
            rule_version=self._version(),
            file=report.file,
            line=doc.line_of("id"),
        )

    def _id(self) -> str:
        value = self._doc.get("id")
        if not isinstance(value, str) or not value:
            self._report.error(self._doc.line_of("id"), "missing 'id'")
            return ""
        if len(value) > MAX_ID or not SAFE_ID.match(value):
            reason = f"'id' must be at most {MAX_ID} letters, digits and single '-_.' (it is printed into prompts)"
            self._report.error(self._doc.line_of("id"), reason)
            return ""
        return value

    def _text(self, key: str, *, required: bool = False) -> str:
        value = self._doc.get(key)
        if value is None:
            if required:
                self._report.error(self._doc.line, f"missing '{key}'")
            return ""
        if isinstance(value, (dict, list)):
            self._report.error(self._doc.line_of(key), f"'{key}' must be text")
            return ""
        return str(value).strip()

    def _map(self, key: str, *, required: bool = False) -> Map:
        value = self._doc.get(key)
        if isinstance(value, Map):
            return value
        if value is not None:
            self._report.error(self._doc.line_of(key), f"'{key}' must be a map")
        elif required:
            self._report.error(self._doc.line, f"missing '{key}'")
        return Map(self._doc.line_of(key))

    def _choice(self, key: str, allowed: frozenset[str], default: str) -> str:
        value = self._doc.get(key)
        if value is None:
            self._report.warn(self._doc.line, f"missing '{key}', taken as '{default}'")
            return default
        word = str(value).strip().lower()
        if word not in allowed:
            self._report.error(
                self._doc.line_of(key), f"unknown {key} '{word[:40]}' (use {', '.join(sorted(allowed))})"
            )
            return default
        return word

    def _schema(self) -> str:
        value = str(self._doc.get("schema_version") or "0.1")
        if value not in SCHEMAS:
            self._report.error(self._doc.line_of("schema_version"), f"unknown schema_version '{value[:20]}'")
        return value

    def _version(self) -> int:
        value = self._doc.get("rule_version", 1)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        self._report.warn(self._doc.line_of("rule_version"), "'rule_version' must be a number from 1 up")
        return 1

    def _source(self) -> str:
        source = self._map("agent_source")
        value = source.get("type")
        if value is None:
            self._report.warn(self._doc.line_of("agent_source"), "missing 'agent_source.type', taken as 'llm_io'")
            return "llm_io"
        if value not in SOURCES:
            self._report.error(source.line_of("type"), f"unknown agent_source.type '{str(value)[:40]}'")
        return str(value)

    def _scopes(self, tags: Map) -> frozenset[str]:
        scope = tags.get("scope", "strict")
        if scope not in ("relaxed", "strict"):
            self._report.error(tags.line_of("scope"), "'tags.scope' must be relaxed or strict")
        return frozenset({"relaxed", "strict"}) if scope == "relaxed" else frozenset({"strict"})

    def _threat(self, tags: Map) -> Threat:
        category = str(tags.get("category") or "")
        if category and category not in CATEGORIES:
            self._report.warn(tags.line_of("category"), f"unknown tags.category '{category[:40]}'")
        value = tags.get("threat")
        if value is None:
            return _THREATS.get(category, Threat.OTHER)
        try:
            return Threat(value)
        except ValueError:
            choices = ", ".join(threat.value for threat in Threat)
            self._report.error(tags.line_of("threat"), f"unknown tags.threat '{str(value)[:40]}' (use {choices})")
            return Threat.OTHER

    def _actions(self) -> tuple[str, ...]:
        response = self._map("response")
        actions = response.get("actions")
        if actions is None:
            self._report.warn(response.line, "missing 'response.actions', taken as alert")
            return ("alert",)
        if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
            self._report.error(response.line_of("actions"), "'response.actions' must be a list of names")
            return ()
        return tuple(actions)

    def _method(self, detection: Map, conditions: tuple[Condition, ...]) -> tuple[str, str]:
        method = str(detection.get("method") or "pattern")
        line = detection.line_of("method")
        if method not in METHODS:
            self._report.error(line, f"unknown detection.method '{method[:40]}'")
        skipped = _skip_reason(method, detection, conditions)
        if skipped:
            self._report.warn(line, f"rule is skipped: {skipped}")
        return method, skipped


def response_of(actions: tuple[str, ...]) -> Response:
    """The strongest response that ``actions`` ask for."""
    if any(action.startswith("block") or action == "kill_agent" for action in actions):
        return Response.BLOCK
    if any(action.startswith("quarantine") or action in _HOLDING for action in actions):
        return Response.QUARANTINE
    return Response.ALERT


_HOLDING = frozenset({"snapshot", "require_human_review", "reset_context"})


def _check_patterns(conditions: tuple[Condition, ...], report: ParseReport) -> None:
    for condition in conditions:
        for spec in (*condition.patterns, *(spec for step in condition.steps for spec in step)):
            try:
                compiled = pattern.compile_spec(spec)
            except pattern.PatternError as error:
                report.error(condition.line, f"condition '{condition.name}': {error}")
                continue
            if compiled.matches_empty:
                report.warn(condition.line, f"condition '{condition.name}' matches the empty text")


def _lane(status: str, maturity: str) -> Lane | None:
    if status in ("draft", "deprecated"):
        return None
    return _LANES.get(maturity)


def _skip_reason(method: str, detection: Mapping[str, Any], conditions: tuple[Condition, ...]) -> str:
    if method == "semantic":
        semantic = detection.get("semantic")
        fallback = semantic.get("fallback_method") if isinstance(semantic, Mapping) else None
        if fallback != "pattern" or not conditions:
            return "method 'semantic' needs a judging model and the rule names no pattern fallback"
    if method == "behavioral" and not any(condition.metric for condition in conditions):
        return "method 'behavioral' needs a stream of metrics"
    if method == "trace" and not isinstance(detection.get("trace"), Mapping):
        return "method 'trace' without a 'trace' block"
    if method == "signature" and not isinstance(detection.get("signature"), Mapping):
        return "method 'signature' without a 'signature' block"
    return ""


def frozen(value: Any) -> Any:
    """A read-only copy of plain YAML values."""
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    return value
