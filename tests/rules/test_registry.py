"""What users add, change and silence: with reasons, and nothing unknown is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.sample import simple
from truekeep.errors import ConfigError
from truekeep.rules import active, load
from truekeep.rules.loader import builtin_digest
from truekeep.rules.registry import (
    FILE,
    Override,
    Registry,
    changed_digest,
    combined,
    read_registry,
    write_registry,
)
from truekeep.types import Response, Severity


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "a.yaml").write_text(simple("zebra", rule_id="rule_a"), encoding="utf-8")
    (folder / "b.yaml").write_text(simple("okapi", rule_id="rule_b").replace("y: stable", "y: test"), encoding="utf-8")
    return folder


def test_added_rules_join_the_built_in_ones(tmp_path: Path, checkout: Path) -> None:
    before = {rule.id for rule in active(tmp_path).rules}
    write_registry(tmp_path, Registry().with_source(checkout, "alert"))
    assert {rule.id for rule in active(tmp_path).rules} - before == {"rule_a", "rule_b"}
    write_registry(tmp_path, read_registry(tmp_path).without_source(checkout))
    assert {rule.id for rule in active(tmp_path).rules} == before


def test_a_source_runs_in_its_lane(tmp_path: Path, checkout: Path) -> None:
    loaded = combined(load([]), Registry().with_source(checkout, "enforce"))
    assert [rule.id for rule in loaded.rules] == ["rule_a"]


def test_overrides_and_suppressions_are_applied_and_kept_with_their_reason(tmp_path: Path, checkout: Path) -> None:
    registry = Registry(
        overrides={"rule_a": Override("too strict for us", Response.ALERT, Severity.LOW)},
        suppressions={"rule_b": 'a "vendor" report has it'},
    ).with_source(checkout, "hunt")
    write_registry(tmp_path, registry)
    assert read_registry(tmp_path) == registry
    (rule,) = combined(load([]), read_registry(tmp_path)).rules
    assert (rule.response, rule.severity) == (Response.ALERT, Severity.LOW)


def test_the_digest_notices_every_change(checkout: Path) -> None:
    plain = Registry().with_source(checkout, "hunt")
    silenced = Registry(plain.sources, suppressions={"rule_b": "noise"})
    assert combined(load([]), plain).digest != combined(load([]), silenced).digest


def test_an_override_of_a_rule_that_is_not_there_is_said(checkout: Path) -> None:
    registry = Registry(suppressions={"rule_z": "gone"}).with_source(checkout, "hunt")
    assert any("rule_z" in fault.reason for fault in combined(load([]), registry).faults)


def test_an_added_rule_cannot_take_the_place_of_another(checkout: Path) -> None:
    base = load([checkout / "a.yaml"])
    loaded = combined(base, Registry().with_source(checkout, "hunt"))
    assert len(loaded.rules) == 2
    assert "already used" in loaded.errors[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "nonsense = 1",
        "[[suppress]]\nid = 'rule_a'",
        "[[override]]\nid = 'rule_a'\nresponse = 'explode'\nreason = 'x'",
        "[[source]]\npath = '/x'\nlane = 'fast'",
        "source = 'not a table'",
        "= broken",
    ],
)
def test_a_registry_that_cannot_be_used_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        read_registry(tmp_path)


def test_the_digest_of_the_rules_in_force_is_known_without_reading_them(tmp_path: Path) -> None:
    for registry in (Registry(), Registry(suppressions={"blue_heron": "noise"})):
        write_registry(tmp_path, registry)
        assert changed_digest(builtin_digest(), registry) == active(tmp_path).digest
    assert changed_digest(builtin_digest(), Registry()) != active(tmp_path).digest
