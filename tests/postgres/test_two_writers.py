"""Two writers on one keep never make two histories of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres.server import Database
from tests.postgres.two_writers import Contest

pytestmark = pytest.mark.slow


@pytest.mark.timeout(180)
def test_two_writers_that_are_stopped_and_cut_off_leave_one_chain(home: Path, database: Database) -> None:
    contest = Contest(database, home, seed=7)
    contest.play(12)
    assert contest.acknowledged
