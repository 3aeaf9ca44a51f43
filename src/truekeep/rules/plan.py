"""Work out once, for a set of rules, what every scan needs: which pattern serves which condition of which rule."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from truekeep.rules.events import ROUTES
from truekeep.rules.expression import Expression
from truekeep.rules.model import Condition, Lane, PatternSpec, Rule


@dataclass(frozen=True, slots=True)
class Use:
    """One condition that a pattern serves."""

    rule: int
    condition: Condition


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The rules in force, their distinct patterns, and for each kind of event the conditions each pattern serves."""

    rules: tuple[Rule, ...]
    specs: tuple[PatternSpec, ...]
    uses: dict[str, dict[int, tuple[Use, ...]]]
    fields: tuple[str, ...]
    content_fields: dict[str, frozenset[str]]
    unprompted: dict[str, tuple[int, ...]]
    alternatives: frozenset[int]
    negated: dict[int, frozenset[str]]
    digest: str


def make_plan(rules: Iterable[Rule], lane: Lane) -> ScanPlan:
    """The plan for those of ``rules`` that are live and run in ``lane``."""
    kept = tuple(rule for rule in rules if _runs(rule, lane))
    numbers: dict[PatternSpec, int] = {}
    uses: dict[str, dict[int, list[Use]]] = {kind: {} for kind in ROUTES}
    unprompted: dict[str, list[int]] = {kind: [] for kind in ROUTES}
    for index, rule in enumerate(kept):
        kinds = [kind for kind in ROUTES if _reaches(rule, kind)]
        for condition in rule.conditions:
            for spec in condition.patterns:
                number = numbers.setdefault(spec, len(numbers))
                for kind in kinds:
                    uses[kind].setdefault(number, []).append(Use(index, condition))
        if _needs_no_pattern(rule):
            for kind in ROUTES if rule.method == "trace" else kinds:
                unprompted[kind].append(index)
    fields = {condition.field for rule in kept for condition in rule.conditions if condition.field}
    return ScanPlan(
        rules=kept,
        specs=tuple(numbers),
        uses={kind: {number: tuple(found) for number, found in by.items()} for kind, by in uses.items()},
        fields=tuple(sorted(fields)),
        content_fields={kind: frozenset(_meaning_content(fields, kind)) for kind in ROUTES},
        unprompted={kind: tuple(found) for kind, found in unprompted.items()},
        alternatives=frozenset(index for index, rule in enumerate(kept) if _is_alternative(rule.expression)),
        negated={index: names for index, rule in enumerate(kept) if (names := rule.expression.negated())},
        digest=_digest(kept, lane),
    )


def _meaning_content(fields: Iterable[str], kind: str) -> Iterable[str]:
    """Those of ``fields`` that mean an event's text when nothing else is given."""
    return (name for name in fields if kind == "skill" or name == "content" or name in ROUTES[kind].fields)


def _runs(rule: Rule, lane: Lane) -> bool:
    # A rule that asks for a second opinion may not act alone where its word blocks.
    return rule.is_live and rule.runs_in(lane) and not (rule.needs_confirmation and lane != "hunt")


def _reaches(rule: Rule, kind: str) -> bool:
    if rule.method in ("trace", "signature"):
        return rule.method == "signature" and _admitted(rule, kind)
    if kind == "skill":
        return skill_quorum(rule) is not None
    return _admitted(rule, kind)


def _admitted(rule: Rule, kind: str) -> bool:
    sources = ROUTES[kind].sources
    return sources is None or rule.source in sources


def skill_quorum(rule: Rule) -> int | None:
    """How many conditions must hold for the rule to speak about a skill file; ``None`` if it never may.

    Rules made for skill files need one. The others read every line of a long document, so they need several
    at once, which rules whose conditions are mere alternatives cannot offer.
    """
    if rule.scan_target in ("skill", "both"):
        return 1
    if _is_alternative(rule.expression):
        return None
    return max(2, math.ceil(len(rule.conditions) * 0.3))


def _is_alternative(expression: Expression) -> bool:
    return expression.kind == "or" and all(part.kind == "name" for part in expression.parts)


def _needs_no_pattern(rule: Rule) -> bool:
    """Whether the rule could fire with no pattern matching at all, so that it must be asked every time."""
    return (
        rule.method in ("trace", "signature")
        or any(condition.metric or condition.steps for condition in rule.conditions)
        or rule.expression.holds(())
    )


def _digest(rules: tuple[Rule, ...], lane: Lane) -> str:
    """A hash of everything about the rules that can change an answer."""
    digest = hashlib.sha256(f"truekeep engine 1 {lane}\n".encode())
    for rule in rules:
        parts = (
            (rule.id, rule.severity, rule.threat, rule.response, sorted(rule.scopes), rule.source, rule.method),
            (rule.scan_target, rule.spares_code_blocks, rule.expression, rule.trace, rule.signature),
            [replace(condition, description="", line=0) for condition in rule.conditions],
        )
        digest.update(repr(parts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
