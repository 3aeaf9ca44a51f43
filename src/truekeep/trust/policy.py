"""The policy: findings and standing in, a decision with a stable code out.

Pure. The table itself is data (``data/policies/*.toml``); this module only reads it:

1. every finding has the decision its class has for the candidate's standing;
2. a class marked ``response`` takes the decision of the rule's own response;
3. the strictest decision wins, and the finding that caused it is named;
4. with no finding the decision is that of ``clean``.

A preset that leaves a class undecided does not load: a missing decision is a refusal.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from truekeep.errors import UnknownPolicy
from truekeep.types import Decision, Finding, Response, Standing, Threat

PRESETS = ("strict", "inform")

_STRICTNESS = {Decision.ACCEPT: 0, Decision.QUARANTINE: 1, Decision.REJECT: 2}
_BY_RESPONSE = {
    Response.BLOCK: Decision.REJECT,
    Response.QUARANTINE: Decision.QUARANTINE,
    Response.ALERT: Decision.ACCEPT,
}
_ROWS = ("clean", *(threat.value for threat in Threat))


@dataclass(frozen=True, slots=True)
class Policy:
    """One preset: a decision for every class of finding at every standing."""

    name: str
    table: Mapping[Standing, Mapping[str, str]]

    def of(self, finding: Finding, standing: Standing) -> Decision:
        """What this one finding calls for."""
        entry = self.table[standing][finding.threat.value]
        return _BY_RESPONSE[finding.response] if entry == "response" else Decision(entry)


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision, its stable code, a sentence for people and the finding behind it."""

    decision: Decision
    code: str
    reason: str
    finding: Finding | None = None


def decide(policy: Policy, standing: Standing, findings: Iterable[Finding]) -> Ruling:
    """The strictest decision any finding calls for; with none, what the preset says of clean text."""
    worst: Ruling | None = None
    for finding in findings:
        decision = policy.of(finding, standing)
        if decision is Decision.ACCEPT:
            continue
        if worst is None or _weight(decision, finding) > _weight(worst.decision, worst.finding):
            worst = Ruling(decision, _code(decision, finding), _sentence(decision, finding), finding)
    clean = Decision(policy.table[standing]["clean"])
    if worst is None or _STRICTNESS[clean] > _STRICTNESS[worst.decision]:
        return _clean(clean, standing)
    return worst


def blocking(policy: Policy, standing: Standing, findings: Iterable[Finding], waived: Iterable[str] = ()) -> list[str]:
    """The rule ids for which a stored memory may not be shown, in order, without those a reviewer waived."""
    seen = set(waived)
    ids: list[str] = []
    for finding in findings:
        if finding.rule_id not in seen and policy.of(finding, standing) is not Decision.ACCEPT:
            seen.add(finding.rule_id)
            ids.append(finding.rule_id)
    return ids


def blocked_sentence(finding: Finding) -> str:
    """The one sentence every refusal carries; it never quotes the text."""
    return f"Content blocked: matched {finding.threat.value} pattern '{finding.rule_id}'. Rephrase the entry."


@cache
def preset(name: str) -> Policy:
    """The preset of that name."""
    if name not in PRESETS:
        raise UnknownPolicy("No such policy preset.", hint=f"Presets: {', '.join(PRESETS)}.")
    raw = tomllib.loads((resources.files("truekeep") / "data" / "policies" / f"{name}.toml").read_text("utf-8"))
    base = preset(raw["extends"]).table if "extends" in raw else {}
    table = {standing: {**base.get(standing, {}), **raw.get(standing.label, {})} for standing in Standing}
    _check(name, table)
    return Policy(name, table)


def _check(name: str, table: Mapping[Standing, Mapping[str, str]]) -> None:
    decisions = {*(decision.value for decision in Decision), "response"}
    for standing, row in table.items():
        undecided = [entry for entry in _ROWS if row.get(entry) not in decisions]
        if undecided:
            raise UnknownPolicy(f"The preset {name} does not decide: {standing.label} {', '.join(undecided)}.")


def _weight(decision: Decision, finding: Finding | None) -> tuple[int, int]:
    return _STRICTNESS[decision], finding.severity if finding else -1


def _code(decision: Decision, finding: Finding) -> str:
    return f"{finding.threat.value.replace('-', '_')}_{'rejected' if decision is Decision.REJECT else 'held'}"


def _sentence(decision: Decision, finding: Finding) -> str:
    if decision is Decision.REJECT:
        return blocked_sentence(finding)
    return f"Held for review: matched {finding.threat.value} pattern '{finding.rule_id}'."


def _clean(decision: Decision, standing: Standing) -> Ruling:
    if decision is Decision.ACCEPT:
        if standing is Standing.HEARSAY:
            return Ruling(decision, "stored_inform_only", "Stored as background: hearsay informs, it never acts.")
        return Ruling(decision, "stored", "Stored.")
    return Ruling(
        decision, "hearsay_held", "Held for review: it was read, not said by the owner or an enrolled system."
    )
