"""The machine sees: each of these gates has one hole, and a short run of the machine falls into it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.promises import machine
from tests.promises.holes import BROKEN, Broken
from tests.promises.machine import machine_for
from tests.promises.record import PromiseBroken
from tests.promises.test_promises import IS_LONG

pytestmark = pytest.mark.slow

BUDGET = settings(
    max_examples=40,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
"""At most this much for each gate; the same every time."""
LONG_BUDGET = settings(BUDGET, max_examples=400, stateful_step_count=50)
_EACH = pytest.mark.parametrize("gate", BROKEN, ids=lambda gate: gate.name)


@_EACH
def test_the_machine_finds_the_hole_in_a_broken_gate(gate: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine.steps_taken
    gate.break_it(monkeypatch)
    with pytest.raises(PromiseBroken, match=f"^{gate.promise}"):
        run_state_machine_as_test(machine_for(gate.world, gate.table), settings=BUDGET)
    print(f"{gate.name}: {machine.steps_taken - before} steps")


@_EACH
@pytest.mark.skipif(not IS_LONG, reason="the rules that lead to a hole are run on a whole gate in the long profile")
def test_the_same_rules_find_nothing_in_a_whole_gate(gate: Broken) -> None:
    run_state_machine_as_test(machine_for(gate.world, gate.table), settings=BUDGET)


@_EACH
@pytest.mark.timeout(0)
@pytest.mark.skipif(not IS_LONG, reason="all rules at once take longer to come to a hole")
def test_the_whole_machine_finds_the_hole_in_a_broken_gate(gate: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    before = machine.steps_taken
    gate.break_it(monkeypatch)
    with pytest.raises(PromiseBroken):
        run_state_machine_as_test(machine_for(gate.world), settings=LONG_BUDGET)
    print(f"{gate.name}: {machine.steps_taken - before} steps")
