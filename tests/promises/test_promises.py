"""P1, P2 and P3 over arbitrary sequences of operations, each lived twice: without and with hearsay.

The quick profile is the same every time. The long one (``TRUEKEEP_LONG=1``) takes more than 20,000 steps, others each
time; with ``TRUEKEEP_LONG_SLICES=8`` it takes an eighth of them, so that several processes can share the work.
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
LEAST_STEPS = 7_000
"""Of the long profile, in each world."""
_COMMON = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
QUICK = settings(
    _COMMON, max_examples=7, stateful_step_count=25, derandomize=True, database=None, phases=[Phase.generate]
)
LONG = settings(_COMMON, max_examples=50, stateful_step_count=50)
"""One round; as many are made as the steps take."""


@pytest.mark.timeout(0 if IS_LONG else 300)
@pytest.mark.parametrize("world", [ALONE, INFORMED, SHARED], ids=lambda world: world.name)
def test_hearsay_adds_nothing_removes_nothing_and_is_not_laundered(world: World) -> None:
    begun = machine.steps_taken
    wanted = LEAST_STEPS // int(os.environ.get("TRUEKEEP_LONG_SLICES", "1")) if IS_LONG else 1
    while machine.steps_taken - begun < wanted:
        run_state_machine_as_test(machine_for(world), settings=LONG if IS_LONG else QUICK)
    print(f"{world.name}: {machine.steps_taken - begun} steps")
