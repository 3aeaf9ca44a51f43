"""What every rule of the pack has in common: the format, enough cases, safe patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rules.pack.pack import FILES, document, patterns, rules
from truekeep.rules import load
from truekeep.rules.loader import BUILTIN
from truekeep.rules.pattern import compile_spec
from truekeep.rules.pattern.syntax import INFINITY, Chars, Choice, Node, PatternGroup, PatternSequence, Repeat
from truekeep.types import Threat

REQUIRED = {"schema_version", "id", "title", "description", "author", "date", "status", "maturity", "severity"}
LOOK_AROUND = re.compile(r"\(\?<?[=!]")
BACK_REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]|\\k<")

every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def test_the_pack_loads_without_a_single_fault() -> None:
    loaded = load([BUILTIN])
    assert loaded.faults == ()
    assert len(loaded.rules) == len(FILES)


def test_every_folder_is_for_the_threat_that_the_packs_page_says() -> None:
    page = (BUILTIN / "README.md").read_text("utf-8")
    promised = dict(re.findall(r"^\| `([a-z-]+)/` \| `([a-z-]+)` \|", page, re.MULTILINE))
    assert {(file.parent.name, document(file)["tags"]["threat"]) for file in FILES} == set(promised.items())


@every_file
def test_a_rule_is_named_after_its_file_and_complete(file: Path) -> None:
    rule = document(file)
    assert set(rule) >= REQUIRED
    assert rule["id"] == file.stem
    assert re.fullmatch(r"[a-z][a-z0-9_]{2,47}", rule["id"])
    assert rule["schema_version"] == "1.0"
    assert (rule["status"], rule["maturity"], rule["author"]) == ("stable", "stable", "truekeep")
    assert rule["agent_source"]["type"] == "memory_access"
    assert rule["detection"]["false_positives"]


@every_file
def test_a_rule_names_a_known_threat_and_scope(file: Path) -> None:
    tags = document(file)["tags"]
    assert tags["threat"] in set(Threat)
    assert tags["scope"] in {"relaxed", "strict"}


@every_file
def test_a_rule_brings_enough_cases(file: Path) -> None:
    rule = document(file)
    true = [case["input"] for case in rule["test_cases"]["true_positives"]]
    false = [case["input"] for case in rule["test_cases"]["true_negatives"]]
    evasions = rule["evasion_tests"]
    assert len(set(true)) >= 3
    assert len(set(false)) >= 3
    assert len(evasions) >= 2
    assert all(case["bypass_technique"] for case in evasions)


@every_file
def test_patterns_have_no_look_around_and_no_back_reference(file: Path) -> None:
    for pattern in patterns(file):
        assert not LOOK_AROUND.search(pattern)
        assert not BACK_REFERENCE.search(pattern)


def test_no_group_repeats_without_a_bound() -> None:
    # One character class may run on, a group may not: no gap can grow and no repeat can nest.
    for rule in rules():
        for condition in rule.conditions:
            for spec in condition.patterns:
                assert not any(_runs_away(part) for part in _walk(compile_spec(spec).node)), (rule.id, condition.name)


def _runs_away(node: Node) -> bool:
    return isinstance(node, Repeat) and node.most == INFINITY and not isinstance(node.part, Chars)


def _walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case PatternSequence():
            parts = node.parts
        case Choice():
            parts = node.options
        case PatternGroup() | Repeat():
            parts = (node.part,)
        case _:
            parts = ()
    for part in parts:
        yield from _walk(part)


def test_everything_relaxed_is_strict_too() -> None:
    for rule in rules():
        assert "strict" in rule.scopes
    assert any("relaxed" in rule.scopes for rule in rules())
    assert any("relaxed" not in rule.scopes for rule in rules())


def test_folders_hold_one_class_each() -> None:
    classes = {file.parent.name: set[str]() for file in FILES}
    for file in FILES:
        classes[file.parent.name].add(document(file)["tags"]["threat"])
    assert all(len(found) == 1 for found in classes.values())
