"""What a threat rule is once it has been read: frozen values, no I/O and no matching."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from truekeep.rules.expression import Expression
from truekeep.types import Response, Severity, Threat

Lane = Literal["enforce", "alert", "hunt"]
Operator = Literal["regex", "contains", "exact", "starts_with"]
LANES: tuple[Lane, ...] = ("enforce", "alert", "hunt")
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a rule file: where it is, and what it is."""

    file: str
    line: int
    reason: str
    severity: Literal["error", "warning"] = "error"
    rule_id: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.severity}: {self.reason}"

    def as_dict(self) -> dict[str, Any]:
        """The fault as JSON members."""
        return {
            "file": self.file,
            "line": self.line,
            "reason": self.reason,
            "severity": self.severity,
            "rule": self.rule_id,
        }


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """One pattern as it is written in a rule; equal specs share one compiled pattern."""

    source: str
    operator: Operator = "regex"
    ignore_case: bool = True


@dataclass(frozen=True, slots=True)
class Condition:
    """One named or numbered condition: patterns over a field, a metric's threshold, or a sequence of steps."""

    name: str
    field: str = ""
    patterns: tuple[PatternSpec, ...] = ()
    steps: tuple[tuple[PatternSpec, ...], ...] = ()
    metric: str = ""
    operator: str = ""
    threshold: float = 0.0
    language: str = ""
    description: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One of a rule's own test cases: the fields of an event and whether the rule must fire on it."""

    group: Literal["true_positive", "true_negative", "evasion"]
    fires: bool
    members: Mapping[str, Any]
    description: str = ""
    technique: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Rule:
    """A threat rule, complete: what it looks for, where, how bad it is, and what is asked for on a match."""

    id: str
    title: str
    description: str
    severity: Severity
    status: str
    maturity: str
    lane: Lane | None
    threat: Threat
    response: Response
    scopes: frozenset[str]
    source: str
    conditions: tuple[Condition, ...]
    expression: Expression
    combination: str
    cases: tuple[Case, ...] = ()
    method: str = "pattern"
    skipped: str = ""
    actions: tuple[str, ...] = ()
    category: str = ""
    subcategory: str = ""
    confidence: str = "medium"
    scan_target: str = ""
    spares_code_blocks: bool = False
    needs_confirmation: bool = False
    references: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    compliance: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    trace: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    signature: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    tags: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    message_template: str = ""
    author: str = ""
    date: str = ""
    schema_version: str = ""
    rule_version: int = 1
    file: str = ""
    line: int = 1

    def __repr__(self) -> str:
        return f"Rule({self.id!r})"

    @property
    def is_live(self) -> bool:
        """Whether any lane runs this rule and this engine can evaluate its method."""
        return self.lane is not None and not self.skipped

    def runs_in(self, lane: Lane) -> bool:
        """Whether ``lane`` runs this rule: enforce = stable, alert = + test, hunt = everything live."""
        return self.lane is not None and LANES.index(self.lane) <= LANES.index(lane)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A set of rules, everything that was wrong with their files, and the hash of what was loaded."""

    rules: tuple[Rule, ...]
    faults: tuple[Fault, ...]
    digest: str

    @property
    def errors(self) -> tuple[Fault, ...]:
        """The faults that kept a rule from loading."""
        return tuple(fault for fault in self.faults if fault.severity == "error")
