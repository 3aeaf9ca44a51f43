"""The promises' machines and the kills that the embedded store withstands, in a short profile, on a real server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.crash.test_kill import play
from tests.postgres.server import Database
from tests.promises import machine, side
from tests.promises.machine import machine_for
from tests.promises.test_promises import QUICK
from tests.promises.world import ALONE, INFORMED, SHARED, World

pytestmark = pytest.mark.slow

IS_LONG = bool(os.environ.get("TRUEKEEP_LONG"))
KILLS = int(os.environ.get("TRUEKEEP_KILLS", "0")) or (25 if IS_LONG else 4)
SHORT = QUICK if IS_LONG else settings(QUICK, max_examples=3, stateful_step_count=15)


@pytest.mark.timeout(0 if IS_LONG else 300)
@pytest.mark.parametrize("world", [ALONE, INFORMED, SHARED], ids=lambda world: world.name)
def test_the_promises_hold_in_a_database(database: Database, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "stores", [database.dsn])
    begun = machine.steps_taken
    run_state_machine_as_test(machine_for(world), settings=SHORT)
    print(f"{world.name}: {machine.steps_taken - begun} steps")
    assert machine.steps_taken - begun > 10
    assert database.run("SELECT count(*) FROM truekeep.keeps")[0][0] > 2, "the machine's keeps are in the database"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("writers", [1, 2])
def test_nothing_acknowledged_is_lost_in_a_database(tmp_path: Path, database: Database, writers: int) -> None:
    play(tmp_path, writers, KILLS, database.dsn)
