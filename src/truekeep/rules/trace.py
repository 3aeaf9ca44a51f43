"""Evaluate ``method: trace`` rules: shapes that spans of an agent's trace must, must not or must keep having."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MAX_SPANS = 2_000
"""A trace comes from elsewhere; what an agent does in one run is far below."""
_MISSING: Any = object()
_OWN = "${span.attributes."
Trace = Mapping[str, Any]


def violations(rule_trace: Mapping[str, Any], trace: Trace) -> list[str]:
    """Which of the rule's primitives (forbid, require, invariant) the trace violates."""
    spans = [span for span in trace.get("spans") or () if isinstance(span, Mapping)][:MAX_SPANS]
    found = []
    if any(_forbidden(spans, item) for item in _items(rule_trace, "forbid")):
        found.append("forbid")
    if any(_lacking(spans, item) for item in _items(rule_trace, "require")):
        found.append("require")
    if any(_drifts(trace, spans, item) for item in _items(rule_trace, "invariant")):
        found.append("invariant")
    return found


def _items(rule_trace: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    return [item for item in rule_trace.get(key) or () if isinstance(item, Mapping)]


def _forbidden(spans: Sequence[Trace], item: Mapping[str, Any]) -> bool:
    before = item.get("preceded_by")
    return any(
        _fits(span, item.get("shape")) and (before is None or _preceded(spans[:at], before))
        for at, span in enumerate(spans)
    )


def _lacking(spans: Sequence[Trace], item: Mapping[str, Any]) -> bool:
    return any(
        _fits(span, item.get("target_shape")) and not _preceded(spans[:at], item.get("must_be_preceded_by"))
        for at, span in enumerate(spans)
    )


def _preceded(spans: Sequence[Trace], clause: Any) -> bool:
    shapes = clause["one_of_shapes"] if isinstance(clause, Mapping) and "one_of_shapes" in clause else (clause,)
    return any(_fits(span, shape) for span in spans for shape in shapes)


def _drifts(trace: Trace, spans: Sequence[Trace], item: Mapping[str, Any]) -> bool:
    """Whether an attribute that must stay the same along a chain, session or conversation does not."""
    first: dict[Any, Any] = {}
    for span in spans:
        key = _chain(trace, span, item.get("across"))
        if key is _MISSING:
            continue
        value = _attribute(span, str(item.get("attribute")))
        if repr(key) not in first:
            first[repr(key)] = value
        elif first[repr(key)] is not value and not _same(first[repr(key)], value):
            return True
    return False


def _chain(trace: Trace, span: Trace, across: Any) -> Any:
    if across == "trace":
        return trace.get("trace_id", "")
    if across == "session":
        return _attribute(span, "session.id")
    if across == "conversation":
        found = _attribute(span, "gen_ai.conversation.id")
        return _attribute(span, "conversation.id") if found is _MISSING else found
    return _attribute(span, "agent.delegation_chain") if across == "agent.delegation_chain" else _MISSING


def _fits(span: Trace, shape: Any) -> bool:
    if not isinstance(shape, Mapping):
        return False
    kind = shape.get("span.kind")
    if kind is not None and span.get("span.kind", span.get("kind")) != kind:
        return False
    wanted = shape.get("attributes") or {}
    return all(_holds(_filled(test, span), _attribute(span, path), span) for path, test in wanted.items())


def _holds(test: Any, value: Any, span: Trace) -> bool:
    """Whether ``value`` passes ``test``; every operator of a map must hold, and an unknown one never does."""
    if not isinstance(test, Mapping):
        return _same(value, test)
    return all(_operator(name, _filled(operand, span), value) for name, operand in test.items())


def _operator(name: str, operand: Any, value: Any) -> bool:
    if name in ("in", "not_in"):
        listed = isinstance(operand, Sequence) and any(_same(value, item) for item in operand)
        return listed if name == "in" else isinstance(operand, Sequence) and not listed
    if name in ("equals", "not_equals"):
        return _same(value, operand) == (name == "equals")
    if name == "exists":
        return (value is not _MISSING) == bool(operand)
    if name == "regex":
        return isinstance(value, str) and isinstance(operand, str) and _searches(operand, value)
    return False


def _searches(source: str, value: str) -> bool:
    from truekeep.rules.model import PatternSpec  # noqa: PLC0415  # a rarely used corner
    from truekeep.rules.pattern import PatternError, compile_spec  # noqa: PLC0415

    try:
        return compile_spec(PatternSpec(source, ignore_case=False)).find_linear(value) is not None
    except PatternError:
        return False


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _filled(test: Any, span: Trace) -> Any:
    """``${span.attributes.x}`` stands for the span's own attribute."""
    if isinstance(test, str) and test.startswith(_OWN) and test.endswith("}"):
        return _attribute(span, test[len(_OWN) : -1])
    return test


def _attribute(span: Trace, path: str) -> Any:
    attributes = span.get("attributes")
    return _read(attributes, path) if isinstance(attributes, Mapping) else _MISSING


def _read(attributes: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; keys may themselves contain dots, the longest one that is there wins."""
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        head = ".".join(parts[:size])
        if head in attributes:
            value = attributes[head]
            if size == len(parts):
                return value
            return _read(value, ".".join(parts[size:])) if isinstance(value, Mapping) else _MISSING
    return _MISSING
