"""Read a rule's ``detection`` block: numbered or named conditions, and how they combine."""

from __future__ import annotations

from typing import Any, Protocol

from truekeep.rules.expression import Expression, ExpressionError, any_of, parse_expression
from truekeep.rules.model import Condition, Operator, PatternSpec
from truekeep.rules.source import Map, Seq

MAX_CONDITIONS = 500
"""Far more than any published rule has; a rule file is somebody else's."""
MAX_PATTERNS = 2_000
"""Far more than any published condition has; a rule file is somebody else's."""
TEXT_OPERATORS: dict[str, Operator] = {
    "regex": "regex",
    "contains": "contains",
    "exact": "exact",
    "starts_with": "starts_with",
}
METRIC_OPERATORS = ("gt", "lt", "eq", "gte", "lte", "deviation_from_baseline")


class Faults(Protocol):
    """Where faults go."""

    def error(self, line: int, reason: str) -> None:
        """Record something that keeps the rule from loading."""

    def warn(self, line: int, reason: str) -> None:
        """Record something an author should know."""


def read_conditions(detection: Map, faults: Faults) -> tuple[tuple[Condition, ...], Expression | None, str]:
    """The conditions, the expression over their names, and the expression as written."""
    raw = detection.get("conditions")
    line = detection.line_of("conditions")
    combination = detection.get("condition")
    if isinstance(raw, Seq):
        blocks = [(str(index), block, at) for index, (block, at) in enumerate(zip(raw, raw.lines, strict=True))]
    elif isinstance(raw, Map):
        blocks = [(name, block, raw.line_of(name)) for name, block in raw.items()]
    else:
        faults.error(line, "missing 'detection.conditions'" if raw is None else "'conditions' must be a list or a map")
        return (), None, ""
    if not blocks or len(blocks) > MAX_CONDITIONS:
        faults.error(line, f"'conditions' must hold between 1 and {MAX_CONDITIONS} conditions")
        return (), None, ""
    if not isinstance(combination, str):
        faults.error(detection.line_of("condition"), "missing 'detection.condition' (any, all or an expression)")
        combination = "any"
    named = {name: str(block) for name, block, _ in blocks if isinstance(block, str)}
    conditions = [_condition(name, block, at, faults) for name, block, at in blocks if name not in named]
    usable = tuple(condition for condition in conditions if condition is not None)
    expression = _expression(combination, [name for name, _, _ in blocks], named, detection, faults)
    return usable, expression, combination


def read_behaviour(block: Map, faults: Faults) -> tuple[tuple[Condition, ...], Expression | None]:
    """A ``behavioral`` block as one condition on a metric; the host does the counting over its window."""
    condition = _metric("behavioral", block, faults)
    return ((condition,), any_of(["behavioral"])) if condition is not None else ((), None)


def _expression(
    text: str, names: list[str], named: dict[str, str], detection: Map, faults: Faults
) -> Expression | None:
    line = detection.line_of("condition")
    try:
        expression = parse_expression(text, names)
        return _resolved(expression, names, named, ())
    except ExpressionError as error:
        faults.error(line, str(error))
        return None


def _resolved(expression: Expression, names: list[str], named: dict[str, str], through: tuple[str, ...]) -> Expression:
    """``expression`` with every condition that is itself an expression put in place of its name."""
    if expression.kind != "name":
        parts = tuple(_resolved(part, names, named, through) for part in expression.parts)
        return Expression(expression.kind, parts=parts)
    if expression.name not in named:
        return expression
    if expression.name in through:
        raise ExpressionError(f"conditions refer to each other in a cycle: {' → '.join((*through, expression.name))}")
    if len(through) > 10:
        raise ExpressionError("conditions refer to each other more than 10 deep")
    inner = parse_expression(named[expression.name], names)
    return _resolved(inner, names, named, (*through, expression.name))


def _condition(name: str, block: Any, line: int, faults: Faults) -> Condition | None:
    if not isinstance(block, Map):
        faults.error(line, f"condition '{name}' must be a map")
        return None
    if "steps" in block:
        return _sequence(name, block, faults)
    if "metric" in block:
        return _metric(name, block, faults)
    return _text(name, block, faults)


def _text(name: str, block: Map, faults: Faults) -> Condition | None:
    field = block.get("field")
    if not isinstance(field, str) or not field:
        faults.error(block.line, f"condition '{name}' has no 'field'")
        return None
    key = "patterns" if "patterns" in block else "value"
    operator = block.get("operator") or block.get("match_type") or ("regex" if key == "patterns" else None)
    if operator in METRIC_OPERATORS:
        return _metric(name, block, faults)
    if operator not in TEXT_OPERATORS:
        faults.error(block.line_of("operator"), f"condition '{name}' has unknown operator '{str(operator)[:40]}'")
        return None
    sources = _strings(block.get(key))
    if sources is None:
        faults.error(block.line_of(key), f"condition '{name}' has no usable '{key}'")
        return None
    # The reference compares 'exact' values of numbered conditions as they stand; everything else folds case.
    folds = not block.get("case_sensitive", operator == "exact" and key == "value")
    return Condition(
        name=name,
        field=field,
        patterns=tuple(PatternSpec(source, TEXT_OPERATORS[operator], folds) for source in sources),
        language=str(block.get("language") or ""),
        description=str(block.get("description") or ""),
        line=block.line,
    )


def _metric(name: str, block: Map, faults: Faults) -> Condition | None:
    metric = block.get("metric") or block.get("field")
    threshold = block.get("threshold", block.get("value"))
    operator = block.get("operator")
    if operator not in METRIC_OPERATORS:
        faults.error(block.line_of("operator"), f"condition '{name}' has unknown operator '{str(operator)[:40]}'")
        return None
    if not isinstance(metric, str) or isinstance(threshold, bool) or not isinstance(threshold, (int, float)):
        faults.error(block.line, f"condition '{name}' needs a 'metric' and a number as 'threshold'")
        return None
    return Condition(name=name, metric=metric, operator=operator, threshold=float(threshold), line=block.line)


def _sequence(name: str, block: Map, faults: Faults) -> Condition | None:
    steps = []
    for step in block["steps"] if isinstance(block["steps"], list) else []:
        sources = _strings(step.get("patterns")) if isinstance(step, Map) else None
        if sources is None:
            faults.error(block.line_of("steps"), f"condition '{name}': every step needs 'patterns'")
            return None
        steps.append(tuple(PatternSpec(source) for source in sources))
    if not steps:
        faults.error(block.line_of("steps"), f"condition '{name}' has no steps")
        return None
    return Condition(name=name, field="content", steps=tuple(steps), line=block.line)


def _strings(value: Any) -> list[str] | None:
    """The non-empty strings in ``value`` (one or a list), or ``None`` when it is anything else."""
    items = value if isinstance(value, list) else [value]
    texts = [str(item) if isinstance(item, (int, float)) and not isinstance(item, bool) else item for item in items]
    if not texts or len(texts) > MAX_PATTERNS or not all(isinstance(text, str) and text for text in texts):
        return None
    return texts
