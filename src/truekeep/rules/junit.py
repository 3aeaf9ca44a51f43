"""JUnit XML of a rule set's own test cases, for the reports that build servers show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as Xml

from truekeep.rules.casework import CaseOutcome


def junit(outcomes: Sequence[CaseOutcome]) -> str:
    """One suite a rule, one case a test case."""
    root = Xml.Element("testsuites", {"name": "truekeep rules", **_counts(outcomes)})
    for rule_id, group in groupby(outcomes, key=lambda outcome: outcome.rule.id):
        members = list(group)
        suite = Xml.SubElement(root, "testsuite", {"name": rule_id, **_counts(members)})
        for outcome in members:
            _case(suite, outcome)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(outcomes: Sequence[CaseOutcome]) -> dict[str, str]:
    results = [outcome.result for outcome in outcomes]
    return {
        "tests": str(len(results)),
        "failures": str(results.count("failed")),
        "skipped": str(results.count("skipped")),
        "errors": "0",
    }


def _case(suite: Xml.Element, outcome: CaseOutcome) -> None:
    case = outcome.case
    element = Xml.SubElement(suite, "testcase", classname=outcome.rule.id, name=f"{case.group} {outcome.number}")
    element.set("file", outcome.rule.file)
    element.set("line", str(case.line))
    if outcome.result == "failed":
        wanted = "to fire" if case.fires else "not to fire"
        Xml.SubElement(element, "failure", message=f"expected the rule {wanted}")
    elif outcome.result == "skipped":
        Xml.SubElement(element, "skipped", message=outcome.rule.skipped)
