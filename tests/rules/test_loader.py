"""Rule files load whole or are named with file, line and reason; nothing is half-loaded silently."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.rules.sample import load_text, one, rule_text, simple
from tests.yardstick import allowed
from truekeep.rules import load
from truekeep.types import Response, Severity, Threat

WORKING = simple("ignore previous")


def _first_error(folder: Path, text: str) -> str:
    loaded = load_text(folder, text)
    assert not loaded.rules
    assert loaded.errors
    return str(loaded.errors[0])


def test_a_rule_keeps_everything_its_file_says(tmp_path: Path) -> None:
    rule = one(
        tmp_path,
        rule_text(
            """
            conditions:
              words: {field: content, patterns: [secret, password], match_type: contains}
              many: {metric: calls, operator: gt, threshold: 5}
            condition: words AND NOT many
            """,
            extra="""
            schema_version: "1.0"
            rule_version: 3
            references: {owasp_llm: ["LLM01:2025"]}
            compliance: {eu_ai_act: [{article: "15", context: why}]}
            test_cases:
              true_positives: [{input: a secret, expected: triggered}]
              true_negatives: ["harmless"]
              evasion_tests: [{input: s3cret, expected: not_triggered, bypass_technique: leet}]
            """,
        ),
    )
    assert (rule.severity, rule.threat, rule.response) == (Severity.HIGH, Threat.INJECTION, Response.BLOCK)
    assert rule.references["owasp_llm"] == ("LLM01:2025",)
    assert rule.compliance["eu_ai_act"][0]["article"] == "15"
    assert [(case.group, case.fires) for case in rule.cases] == [
        ("true_positive", True),
        ("true_negative", False),
        ("evasion", False),
    ]
    assert rule.rule_version == 3
    assert rule.scopes == {"strict"}


@pytest.mark.parametrize(
    ("status", "maturity", "lanes"),
    [
        ("stable", "stable", "enforce alert hunt"),
        ("experimental", "test", "alert hunt"),
        ("experimental", "experimental", "hunt"),
        ("draft", "stable", ""),
        ("stable", "deprecated", ""),
        ("deprecated", "test", ""),
        ("experimental", "draft", ""),
    ],
)
def test_status_and_maturity_decide_the_lanes(tmp_path: Path, status: str, maturity: str, lanes: str) -> None:
    text = WORKING.replace("status: stable", f"status: {status}").replace("maturity: stable", f"maturity: {maturity}")
    rule = one(tmp_path, text)
    assert [lane for lane in ("enforce", "alert", "hunt") if rule.runs_in(lane)] == lanes.split()


@pytest.mark.parametrize(
    ("actions", "response"),
    [
        ("[block_tool, alert]", Response.BLOCK),
        ("[alert, snapshot]", Response.QUARANTINE),
        ("[quarantine_session]", Response.QUARANTINE),
        ("[alert, escalate]", Response.ALERT),
    ],
)
def test_actions_ask_for_a_response(tmp_path: Path, actions: str, response: Response) -> None:
    assert one(tmp_path, WORKING.replace("[block_input]", actions)).response is response


def test_one_bad_file_among_hundreds_is_named_and_the_others_load(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"r{number}.yaml").write_text(simple("ignore", rule_id=f"rule_{number}"), encoding="utf-8")
    (tmp_path / "r150.yaml").write_text(WORKING.replace("regex", "telepathy"), encoding="utf-8")
    loaded = load([tmp_path])
    assert len(loaded.rules) == 299
    assert [(Path(fault.file).name, fault.severity) for fault in loaded.faults] == [("r150.yaml", "error")]
    assert "telepathy" in loaded.faults[0].reason
    assert loaded.faults[0].line == 12


def test_all_faults_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    text = WORKING.replace("severity: high", "severity: dreadful").replace("ignore previous", "(((")
    text = text.replace("{type: llm_io}", "{type: tea_leaves}").replace("title: A rule for tests\n", "")
    reasons = " ".join(fault.reason for fault in load_text(tmp_path, text).errors)
    for word in ("dreadful", "tea_leaves", "title", "invalid regex"):
        assert word in reasons


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("just words", "one map"),
        ("- a\n- b", "one map"),
        ("a: [1, 2", "not valid YAML"),
        ("a: 1\na: 2", "given twice"),
        ("a: !!python/object/apply:os.system [id]", "missing 'id'"),
        ("a: &x [*x]", "refers to itself"),
        ("a: *nowhere", "refers to itself or to nothing"),
        ("{" * 60 + "}" * 60, "nested deeper"),
        (WORKING.replace("sample_rule", "'ignore all; obey'"), "printed into prompts"),
        (WORKING.replace("sample_rule", "x" * 65), "printed into prompts"),
        (WORKING.replace("condition: any", "condition: 0 AND (1"), "not a condition"),
        (WORKING.replace("condition: any", "condition: (0"), "missing ')'"),
        (WORKING.replace("condition: any", "condition: 0 0"), "unexpected"),
        (WORKING.replace("condition: any", "condition: " + "(" * 50 + "0" + ")" * 50), "nested deeper"),
        (WORKING.replace("operator: regex, ", ""), "unknown operator"),
        (WORKING.replace("'ignore previous'", "{a: b}"), "no usable 'value'"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, reason: str) -> None:
    assert reason in _first_error(tmp_path, text)


def test_conditions_that_name_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    text = rule_text(
        """
        conditions:
          plain: {field: content, operator: contains, value: x}
          one: "two OR plain"
          two: "one AND plain"
        condition: one
        """
    )
    assert "cycle: one → two → one" in _first_error(tmp_path, text)


def test_a_condition_may_stand_for_an_expression(tmp_path: Path) -> None:
    rule = one(
        tmp_path,
        rule_text(
            """
            conditions:
              a: {field: content, operator: contains, value: x}
              b: {field: content, operator: contains, value: y}
              both: "a AND b"
            condition: both
            """
        ),
    )
    assert rule.expression.holds({"a", "b"})
    assert not rule.expression.holds({"a"})


def test_anchors_that_explode_are_refused_quickly(tmp_path: Path) -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    began = time.process_time()
    assert "more than 50,000 values" in _first_error(tmp_path, "\n".join(lines))
    assert time.process_time() - began < allowed(2)


def test_ten_megabytes_are_refused_without_being_parsed(tmp_path: Path) -> None:
    began = time.process_time()
    assert "larger than 1,000,000 bytes" in _first_error(tmp_path, WORKING + "# " + "x" * 10_000_000)
    assert time.process_time() - began < allowed(1)


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"id: a\ntitle: caf\xe9\n")
    fault = load([tmp_path]).errors[0]
    assert (fault.reason, fault.line) == ("file is not valid UTF-8", 2)


def test_an_id_used_twice_loads_once_and_names_both_places(tmp_path: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(WORKING, encoding="utf-8")
    loaded = load([tmp_path])
    assert len(loaded.rules) == 1
    assert "one.yaml:1" in loaded.errors[0].reason
    assert loaded.errors[0].file.endswith("two.yaml")


def test_a_missing_path_and_an_unreadable_file_are_faults(tmp_path: Path) -> None:
    assert "no such file" in load([tmp_path / "nowhere"]).errors[0].reason
    file = tmp_path / "locked.yaml"
    file.write_text(WORKING, encoding="utf-8")
    file.chmod(0)
    if not os.access(file, os.R_OK):
        assert "cannot be read" in load([file]).errors[0].reason


def test_the_digest_changes_with_the_rules_and_only_with_them(tmp_path: Path) -> None:
    first = load_text(tmp_path, WORKING).digest
    assert load_text(tmp_path, WORKING).digest == first
    assert load_text(tmp_path, WORKING.replace("previous", "prior")).digest != first


def test_a_method_that_cannot_be_evaluated_is_reported_as_skipped(tmp_path: Path) -> None:
    detection = "method: semantic\nconditions: [{field: content, operator: contains, value: x}]\ncondition: any"
    loaded = load_text(tmp_path, rule_text(detection))
    assert "judging model" in loaded.rules[0].skipped
    assert "skipped" in loaded.faults[0].reason
    fallback = load_text(tmp_path, rule_text(f"semantic: {{fallback_method: pattern}}\n{detection}"))
    assert fallback.rules[0].is_live


def test_a_file_may_hold_several_rules(tmp_path: Path) -> None:
    second = WORKING.replace("sample_rule", "other_rule")
    assert [rule.id for rule in load_text(tmp_path, f"{WORKING}---\n{second}").rules] == ["sample_rule", "other_rule"]
