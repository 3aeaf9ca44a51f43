"""Read a rule's own test cases in all the spellings found in the wild."""

from __future__ import annotations

from typing import Any, Literal

from truekeep.rules.conditions import Faults
from truekeep.rules.model import Case
from truekeep.rules.source import Map, Seq

Group = Literal["true_positive", "true_negative", "evasion"]
_YES = frozenset({"trigger", "triggered", "match", "matched", "true", "block", "blocked", "detected"})
_NO = frozenset({"no_trigger", "not_triggered", "no_match", "not_matched", "false", "allow", "allowed", "clean"})
_GROUPS: dict[str, Group] = {
    "true_positives": "true_positive",
    "true_negatives": "true_negative",
    "evasion_tests": "evasion",
}
_NOTES = frozenset(
    [
        "expected",
        "description",
        "reason",
        "notes",
        "bypass_technique",
        "evasion_technique",
        "matched_condition",
        "detection_field",
    ]
)


def read_cases(document: Map, faults: Faults) -> tuple[Case, ...]:
    """Every case under ``test_cases`` and the top-level ``evasion_tests``."""
    found: list[Case] = []
    block = document.get("test_cases")
    if isinstance(block, Map):
        for key, items in block.items():
            if key in _GROUPS:
                found += _group(_GROUPS[key], items, block.line_of(key), faults)
            else:
                faults.warn(block.line_of(key), f"unknown group of test cases '{key[:40]}'")
    elif block is not None:
        faults.error(document.line_of("test_cases"), "'test_cases' must be a map")
    if "evasion_tests" in document:
        found += _group("evasion", document["evasion_tests"], document.line_of("evasion_tests"), faults)
    return tuple(found)


def _group(group: Group, items: Any, line: int, faults: Faults) -> list[Case]:
    if items is None:
        return []
    if not isinstance(items, Seq):
        faults.error(line, "test cases must be a list")
        return []
    cases = (_case(group, item, at, faults) for item, at in zip(items, items.lines, strict=True))
    return [case for case in cases if case is not None]


def _case(group: Group, item: Any, line: int, faults: Faults) -> Case | None:
    if isinstance(item, str):
        return Case(group, group != "true_negative", {"input": item}, line=line)
    if not isinstance(item, Map):
        faults.error(line, "a test case must be text or a map")
        return None
    members = {key: value for key, value in item.items() if key not in _NOTES}
    if not members:
        faults.warn(line, "test case without an input")
        return None
    expected = str(item.get("expected", "")).strip().lower()
    if expected and expected not in _YES | _NO:
        faults.error(line, f"unknown 'expected' value '{expected[:40]}'")
        return None
    return Case(
        group=group,
        fires=expected in _YES if expected else group != "true_negative",
        members=members,
        description=str(item.get("description") or item.get("notes") or item.get("reason") or ""),
        technique=str(item.get("bypass_technique") or item.get("evasion_technique") or ""),
        line=line,
    )
