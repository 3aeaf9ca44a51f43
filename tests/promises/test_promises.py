"""P1 to P9 over arbitrary sequences of operations, each lived twice: without and with hearsay.

This profile is the same every time. The long one is ``python -m tests.promises``.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.promises import machine
from tests.promises.machine import machine_for
from tests.promises.world import ALONE, INFORMED, SHARED, World

IS_LONG = bool(os.environ.get("TRUEKEEP_LONG"))
_COMMON = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
QUICK = settings(
    _COMMON, max_examples=7, stateful_step_count=25, derandomize=True, database=None, phases=[Phase.generate]
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("world", [ALONE, INFORMED, SHARED], ids=lambda world: world.name)
def test_the_promises_hold_over_arbitrary_lives(world: World) -> None:
    begun = machine.steps_taken
    run_state_machine_as_test(machine_for(world), settings=QUICK)
    print(f"{world.name}: {machine.steps_taken - begun} steps")
    assert machine.steps_taken - begun > 100
