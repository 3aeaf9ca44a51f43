"""Two writers on one keep never make two histories of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.postgres.server import Database
from tests.postgres.two_writers import Contest
from truekeep import Keep
from truekeep.config import Settings
from truekeep.stores.anchor import Anchors
from truekeep.stores.postgres_keys import DatabaseKeyring

pytestmark = pytest.mark.slow


@pytest.mark.timeout(180)
def test_two_writers_that_are_stopped_and_cut_off_leave_one_chain(home: Path, database: Database) -> None:
    contest = Contest(database, home, seed=7)
    contest.play(12)
    assert contest.acknowledged


@pytest.mark.parametrize("moment", ["exists", "claimed"])
def test_a_keep_that_another_process_makes_meanwhile_is_opened(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Right before this process looks whether there is one, or right before it looks at the anchors."""
    settings = replace(Settings(), store=database.dsn, embedder="none")
    look = {"exists": (DatabaseKeyring, "exists"), "claimed": (Anchors, "claimed")}[moment]
    real = getattr(*look)
    made: list[bool] = []

    def late(*args: Any) -> Any:
        if not made:
            made.append(True)
            with Keep.open("alice", home=tmp_path, settings=settings, background=False) as other:
                other.remember("The cat is called Mia.", via="user")
        return real(*args)

    monkeypatch.setattr(*look, late)
    with Keep.open("alice", home=tmp_path, settings=settings, background=False) as keep:
        assert [one["content"] for one in keep.get_memories()] == ["The cat is called Mia."]
    assert made
