"""Find what is wrong with rules beyond what keeps them from loading. A check is a small class; all of them run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Protocol

from truekeep.rules.casework import run_cases
from truekeep.rules.engine import Engine
from truekeep.rules.events import ROUTES, Event
from truekeep.rules.model import Condition, Fault, Loaded, Rule
from truekeep.rules.pattern import PatternError, compile_spec
from truekeep.rules.pattern.hazards import hazards
from truekeep.rules.plan import skill_quorum

LEAST_CASES = 3


class LintCheck(Protocol):
    """One thing to look for in a rule."""

    name: ClassVar[str]

    def look(self, rule: Rule) -> Iterator[Fault]:
        """What is wrong with ``rule``."""


def _fault(rule: Rule, line: int, check: str, reason: str) -> Fault:
    return Fault(rule.file, line or rule.line, f"{reason} [{check}]", "warning", rule.id)


class SlowPattern:
    """Patterns that would take a backtracking engine too long on a crafted text."""

    name: ClassVar[str] = "slow-pattern"

    def look(self, rule: Rule) -> Iterator[Fault]:
        """One fault for each pattern that blows up, and for back-references, which nothing matches in linear time."""
        for condition in rule.conditions:
            for spec in condition.patterns:
                try:
                    pattern = compile_spec(spec)
                except PatternError:
                    continue
                found = hazards(pattern.node)
                if pattern.has_references:
                    found.append("a back-reference cannot be matched in linear time")
                for hazard in found:
                    yield _fault(rule, condition.line, self.name, f"condition '{condition.name}': {hazard}")


class Unreachable:
    """Conditions that no event can make true, and names the expression never uses."""

    name: ClassVar[str] = "unreachable"

    def look(self, rule: Rule) -> Iterator[Fault]:
        """One fault for each condition that cannot matter."""
        used = rule.expression.names()
        for condition in rule.conditions:
            if condition.name not in used:
                reason = f"condition '{condition.name}' is not part of '{rule.combination[:60]}'"
                yield _fault(rule, condition.line, self.name, reason)
            elif condition.field and not _has_event(rule, condition):
                reason = f"condition '{condition.name}': no event carries field '{condition.field[:40]}' to this rule"
                yield _fault(rule, condition.line, self.name, reason)
        seen: dict[object, str] = {}
        for condition in rule.conditions:
            key = (condition.field, condition.patterns, condition.language)
            if condition.patterns and key in seen:
                reason = f"condition '{condition.name}' repeats condition '{seen[key]}'"
                yield _fault(rule, condition.line, self.name, reason)
            seen.setdefault(key, condition.name)


_NAMED_FIELDS = frozenset({"tool_name", "tool_args", "tool_description", "tool_input", "agent_message"})


def _has_event(rule: Rule, condition: Condition) -> bool:
    if rule.method in ("trace", "signature", "behavioral") or condition.field in _NAMED_FIELDS:
        return True
    admitted = [route for kind, route in ROUTES.items() if route.sources is not None and rule.source in route.sources]
    fields = {name for route in admitted for name in route.fields} | {"content"}
    return condition.field in fields or skill_quorum(rule) is not None


class MissingCases:
    """Rules that do not say what they are for by example."""

    name: ClassVar[str] = "missing-cases"

    def look(self, rule: Rule) -> Iterator[Fault]:
        """A fault for each group of cases that is too small."""
        for group, wanted in (("true_positive", LEAST_CASES), ("true_negative", LEAST_CASES), ("evasion", 1)):
            count = sum(case.group == group for case in rule.cases)
            if count < wanted:
                reason = f"only {count} {group.replace('_', ' ')} cases, at least {wanted} wanted"
                yield _fault(rule, rule.line, self.name, reason)


class FailingCases:
    """Rules that fail their own cases."""

    name: ClassVar[str] = "failing-case"

    def look(self, rule: Rule) -> Iterator[Fault]:
        """One error for each case that goes wrong."""
        for outcome in run_cases([rule]):
            if outcome.result == "failed":
                did = "fires" if outcome.fired else "does not fire"
                reason = f"{did} on its own {outcome.case.group.replace('_', ' ')} case [{self.name}]"
                yield Fault(rule.file, outcome.case.line, reason, "error", rule.id)


class FalsePositives:
    """Rules that fire on honest texts."""

    name: ClassVar[str] = "false-positive"

    def __init__(self, benign: Sequence[str], kind: str = "memory_write") -> None:
        self._benign = benign
        self._kind = kind

    def look(self, rule: Rule) -> Iterator[Fault]:
        """One fault with the number of honest texts the rule fires on."""
        if rule.skipped:
            return
        engine = Engine([rule], prefilter="portable")
        events = (Event(self._kind, {"content": text}) for text in self._benign)
        count = sum(bool(engine.scan(event).matches) for event in events)
        if count:
            reason = f"fires on {count} of {len(self._benign)} honest texts"
            yield _fault(rule, rule.line, self.name, reason)


def lint(loaded: Loaded, *, benign: Sequence[str] = (), run: bool = True) -> tuple[Fault, ...]:
    """Every fault of ``loaded``: those found while loading, and those each check finds."""
    checks: list[LintCheck] = [SlowPattern(), Unreachable(), MissingCases()]
    if run:
        checks.append(FailingCases())
    if benign:
        checks.append(FalsePositives(benign))
    return (*loaded.faults, *_checked(loaded.rules, checks))


def _checked(rules: Iterable[Rule], checks: Sequence[LintCheck]) -> Iterator[Fault]:
    for rule in rules:
        for check in checks:
            yield from check.look(rule)
