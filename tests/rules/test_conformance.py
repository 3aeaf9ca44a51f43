"""The public rule set loads whole and passes its own cases; it is fetched by name and never part of this project."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.rules_fetch import Unreachable, atr_rules

from tests.yardstick import allowed
from truekeep.rules import Engine, Event, Loaded, Rule, load
from truekeep.rules.casework import fires, run_cases

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def atr() -> Loaded:
    try:
        rules = atr_rules()
    except (Unreachable, OSError) as error:
        pytest.skip(f"agent-threat-rules is out of reach: {error}")
    return load([rules])


@pytest.fixture(scope="module")
def engine(atr: Loaded) -> Engine:
    return Engine(atr.rules, prefilter="portable")


def test_every_rule_of_the_public_set_loads(atr: Loaded) -> None:
    assert len(atr.rules) == 785
    assert not atr.errors
    assert sum(len(rule.conditions) for rule in atr.rules) == 3_353


@pytest.mark.timeout(600)
def test_the_public_set_passes_its_own_cases(atr: Loaded) -> None:
    began = time.process_time()
    counts = Counter((o.case.group, o.case.fires, o.result) for o in run_cases(atr.rules))
    assert counts["true_positive", True, "passed"] == 4_056
    assert counts["true_negative", False, "passed"] == 3_924
    assert counts["evasion", True, "passed"] >= 270
    assert time.process_time() - began < allowed(60)


@pytest.mark.parametrize("number", ["01155", "00075", "00070", "01774"])
def test_the_memory_rules_fire_on_memories(atr: Loaded, number: str) -> None:
    rule = next(rule for rule in atr.rules if rule.id.endswith(number))
    engine = Engine([rule], prefilter="portable")
    cases = [case for case in rule.cases if case.group == "true_positive"]
    positives = [str(case.members.get("tool_response") or case.members["input"]) for case in cases]
    caught = sum(bool(engine.scan(Event.memory_write(text)).matches) for text in positives)
    assert caught == len(positives)
    assert all(fires(engine, rule, case) for case in cases)


def test_all_rules_at_once_name_the_rule_that_each_case_is_for(atr: Loaded, engine: Engine) -> None:
    memory = [rule for rule in atr.rules if rule.source == "memory_access"]
    assert memory
    for rule in memory:
        for case in rule.cases:
            if case.group == "true_positive":
                assert rule.id in engine.ids(str(case.members["input"]))


def test_a_crafted_text_costs_milliseconds_with_all_rules(engine: Engine) -> None:
    for seed in ("../", "a:", "\\", "a", "Q: why?\nA: because.\n"):
        text = (seed * 2_000)[:2_000]
        engine.scan(Event.memory_write(text))
        began = time.process_time()
        engine.scan(Event.memory_write(text))
        # Without Hyperscan, and with room for a busy machine; the benchmark holds the real bound.
        assert time.process_time() - began < allowed(0.5), seed


def test_the_sample_is_read_as_its_author_meant(atr: Loaded) -> None:
    by_id: dict[str, Rule] = {rule.id: rule for rule in atr.rules}
    sample = by_id["ATR-2026-01155"]
    assert (sample.lane, sample.source) == ("alert", "memory_access")
    assert Path(sample.file).suffix == ".yaml"
