"""SARIF 2.1.0: findings and faults in the format that code hosts and editors read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truekeep.rules.model import Fault, Rule
from truekeep.rules.result import Scan
from truekeep.types import Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
OVERRUN = "scan_overrun"
_LEVELS = {Severity.CRITICAL: "error", Severity.HIGH: "error", Severity.MEDIUM: "warning"}
# The scale code hosts sort by; the middle of each band of CVSS.
_SCORES = {Severity.CRITICAL: "9.5", Severity.HIGH: "8.0", Severity.MEDIUM: "5.5", Severity.LOW: "2.0"}


@dataclass(frozen=True, slots=True)
class Scanned:
    """One scanned text: where it came from, and what was found. ``line`` is where it starts in its file."""

    name: str
    text: str
    scan: Scan
    line: int = 1


def scan_log(scanned: Iterable[Scanned], version: str) -> dict[str, Any]:
    """A SARIF log of what scans found; it never contains the matched text."""
    results: list[dict[str, Any]] = []
    rules: dict[str, Rule] = {}
    for item in scanned:
        for match in item.scan.matches:
            rules[match.rule.id] = match.rule
            results.append(
                {
                    "ruleId": match.rule.id,
                    "level": _LEVELS.get(match.rule.severity, "note"),
                    "message": {"text": f"{match.rule.title}: {match.excerpt}"},
                    "locations": [_location(item, match.span)],
                    "properties": {"view": match.view, "condition": match.condition, "field": match.field},
                }
            )
        if item.scan.overrun:
            results.append(_overrun(item))
    described = [_rule(rule) for rule in rules.values()]
    if any(result["ruleId"] == OVERRUN for result in results):
        described.append({"id": OVERRUN, "shortDescription": {"text": "The scan could not be finished."}})
    return _log(described, results, version)


def fault_log(faults: Sequence[Fault], version: str) -> dict[str, Any]:
    """A SARIF log of what is wrong with rule files."""
    results = [
        {
            "ruleId": _check(fault),
            "level": fault.severity,
            "message": {"text": fault.reason},
            "locations": [_place(fault.file, {"startLine": max(fault.line, 1)})],
        }
        for fault in faults
    ]
    names = dict.fromkeys(_check(fault) for fault in faults)
    return _log([{"id": name} for name in names], results, version)


def _check(fault: Fault) -> str:
    return fault.reason.rpartition("[")[2].rstrip("]") if fault.reason.endswith("]") else "rule-file"


def _log(rules: list[dict[str, Any]], results: list[dict[str, Any]], version: str) -> dict[str, Any]:
    order = {rule["id"]: index for index, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = order[result["ruleId"]]
    driver = {"name": "truekeep", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title or rule.id},
        "fullDescription": {"text": rule.description or rule.title or rule.id},
        "defaultConfiguration": {"level": _LEVELS.get(rule.severity, "note")},
        "properties": {"tags": ["security", rule.threat.value], "security-severity": _SCORES.get(rule.severity, "0.0")},
    }


def _overrun(item: Scanned) -> dict[str, Any]:
    return {
        "ruleId": OVERRUN,
        "level": "error",
        "message": {"text": f"Not scanned to the end: {item.scan.overrun}."},
        "locations": [_location(item, (0, 0))],
    }


def _location(item: Scanned, span: tuple[int, int]) -> dict[str, Any]:
    start, end = span
    return _place(item.name, {**_point(item, start, "start"), **_point(item, max(end, start), "end")})


def _point(item: Scanned, offset: int, which: str) -> dict[str, int]:
    before = item.text[:offset]
    line = before.count("\n") + item.line
    column = offset - (before.rfind("\n") + 1) + 1
    return {f"{which}Line": line, f"{which}Column": column}


def _place(name: str, region: dict[str, int]) -> dict[str, Any]:
    uri = Path(name).as_posix() if name else "stdin"
    return {"physicalLocation": {"artifactLocation": {"uri": _quoted(uri)}, "region": region}}


def _quoted(path: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415  # only for reports

    # A name on a disk is bytes; one that is no UTF-8 is still a place to point at.
    return quote(path, safe="/:", errors="surrogateescape")
