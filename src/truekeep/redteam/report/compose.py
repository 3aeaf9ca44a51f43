"""What the report says, section by section, from the rows of a run and what the claims came to."""

from __future__ import annotations

from collections.abc import Sequence

from truekeep.redteam.bounds import Finding
from truekeep.redteam.report.acting import agent, battery, screens, yardsticks
from truekeep.redteam.report.document import Document, Section, Table
from truekeep.redteam.report.retrieval import hijacks, side_by_side, utility
from truekeep.redteam.report.searching import search
from truekeep.redteam.results import Results

_TITLE = "Memory poisoning, measured"


def compose(results: Results, findings: Sequence[Finding]) -> Document:
    """The whole report; parts that were not measured are not in it."""
    parts = (utility, hijacks, side_by_side, search, agent, battery, yardsticks, screens)
    sections = [section for part in parts if (section := part(results)) is not None]
    return Document(_TITLE, _facts(results), [_claims(findings), *sections, *_left_out(results), _refuting(findings)])


def _facts(results: Results) -> list[tuple[str, str]]:
    names = {
        "at": "measured",
        "machine": "on",
        "truekeep": "version",
        "profile": "run",
        "embedder": "embedder of the keep",
    }
    facts = [(words, str(results.conditions[name])) for name, words in names.items() if name in results.conditions]
    spent = sum(results.cpu.values())
    return [*facts, ("CPU", f"{spent:,.0f} s in {len(results.cpu)} steps, workers aside")]


def _claims(findings: Sequence[Finding]) -> Section:
    broken = sum(not one.is_met for one in findings)
    summary = f"{len(findings) - broken} of {len(findings)} claims hold."
    rows = [[one.state, one.bound.claim, one.sentence] for one in findings]
    marks = ["good" if one.is_met else "bad" for one in findings]
    return Section("What holds", [summary], tables=[Table(["", "claim", "found"], rows, marks)])


def _left_out(results: Results) -> list[Section]:
    if not results.left_out:
        return []
    rows = [[step, reason] for step, reason in results.left_out.items()]
    return [Section("What was left out", tables=[Table(["step", "reason"], rows)])]


def _refuting(findings: Sequence[Finding]) -> Section:
    text = (
        "Each claim can be tested by anybody. If the command shows the outcome beside it, the claim is wrong, and we "
        "want to know."
    )
    rows = [[one.bound.claim, f"`{one.bound.command}`", one.bound.refuted_by] for one in findings]
    return Section("How to refute it", [text], tables=[Table(["claim", "command", "refuted by"], rows)])
