"""The policy table, cell by cell, and what happens between cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.trust.policy import PRESETS, blocking, decide, preset
from truekeep.types import Decision, Finding, Response, Severity, Standing, Threat

REJECTED = (Threat.INJECTION, Threat.EXFILTRATION, Threat.HIDDEN_TEXT)
FINDINGS = st.builds(
    Finding,
    rule_id=st.sampled_from(["a", "b", "c"]),
    threat=st.sampled_from(Threat),
    severity=st.sampled_from(Severity),
    response=st.sampled_from(Response),
)


def finding(threat: Threat, **fields: object) -> Finding:
    return Finding("a_rule", threat, Severity.HIGH, **fields)  # type: ignore[arg-type]


def decision(preset_name: str, standing: Standing, *threats: Threat) -> Decision:
    return decide(preset(preset_name), standing, [finding(threat) for threat in threats]).decision


@pytest.mark.parametrize("name", PRESETS)
def test_the_table_of_the_design(name: str) -> None:
    for threat in REJECTED:
        assert {decision(name, standing, threat) for standing in Standing} == {Decision.REJECT}
    assert decision(name, Standing.OWNER) is Decision.ACCEPT
    assert decision(name, Standing.ENROLLED) is Decision.ACCEPT
    assert decision(name, Standing.OWNER, Threat.PREFERENCE) is Decision.ACCEPT
    assert decision(name, Standing.OWNER, Threat.AUTHORITY) is Decision.REJECT
    assert decision(name, Standing.ENROLLED, Threat.AUTHORITY) is Decision.QUARANTINE
    assert decision(name, Standing.HEARSAY, Threat.AUTHORITY) is Decision.REJECT
    for threat in (Threat.DIRECTIVE, Threat.STUFFING, Threat.CREDENTIAL, Threat.PLANT):
        assert decision(name, Standing.HEARSAY, threat) is Decision.QUARANTINE
    for standing in Standing:
        assert decision(name, standing, Threat.CREDENTIAL) is Decision.QUARANTINE
        assert decision(name, standing, Threat.PLANT) is Decision.QUARANTINE
    for standing in Standing:
        assert decision(name, standing, Threat.SCREEN_FAILURE) is not Decision.ACCEPT


@pytest.mark.parametrize("seen", [(), (Threat.PREFERENCE,)])
def test_only_what_has_no_finding_that_matters_tells_the_presets_apart(seen: tuple[Threat, ...]) -> None:
    assert decision("strict", Standing.HEARSAY, *seen) is Decision.QUARANTINE
    assert decision("inform", Standing.HEARSAY, *seen) is Decision.ACCEPT
    assert decision("strict", Standing.ENROLLED, Threat.PREFERENCE) is Decision.QUARANTINE
    assert decision("inform", Standing.ENROLLED, Threat.PREFERENCE) is Decision.ACCEPT


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (Response.BLOCK, Decision.REJECT),
        (Response.QUARANTINE, Decision.QUARANTINE),
        (Response.ALERT, Decision.ACCEPT),
    ],
)
def test_a_rule_outside_the_table_is_answered_by_its_own_response(response: Response, expected: Decision) -> None:
    ruling = decide(preset("strict"), Standing.OWNER, [finding(Threat.OTHER, response=response)])
    assert ruling.decision is expected


@given(st.lists(FINDINGS, max_size=5), FINDINGS, st.sampled_from(Standing), st.sampled_from(PRESETS))
def test_another_finding_never_makes_a_verdict_milder(
    findings: list[Finding], more: Finding, standing: Standing, name: str
) -> None:
    order = list(Decision)
    before = decide(preset(name), standing, findings).decision
    after = decide(preset(name), standing, [*findings, more]).decision
    assert order.index(after) >= order.index(before)


@given(st.lists(FINDINGS, max_size=5), st.sampled_from(PRESETS))
def test_what_a_higher_standing_may_not_store_a_lower_one_may_not_either(findings: list[Finding], name: str) -> None:
    accepted = [decide(preset(name), standing, findings).decision is Decision.ACCEPT for standing in sorted(Standing)]
    assert accepted == sorted(accepted)


@pytest.mark.slow
@given(st.lists(FINDINGS, max_size=5), st.sampled_from(Standing))
def test_what_would_be_refused_at_the_door_is_blocked_on_the_way_out(
    findings: list[Finding], standing: Standing
) -> None:
    policy = preset("inform")
    refused = decide(policy, standing, findings).decision is not Decision.ACCEPT
    assert bool(blocking(policy, standing, findings)) is refused


def test_an_approval_waives_only_what_the_reviewer_saw() -> None:
    policy = preset("strict")
    seen, later = finding(Threat.CREDENTIAL), Finding("later_rule", Threat.CREDENTIAL, Severity.LOW)
    assert blocking(policy, Standing.OWNER, [seen, later], waived=["a_rule"]) == ["later_rule"]
