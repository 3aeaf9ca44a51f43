"""Killed at any step of a write, nothing is lost or doubled once it is reconciled."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.sqlite")
from langgraph.store.sqlite import SqliteStore

from tests.protect.killed_writer import NS, WRITES
from truekeep import Keep
from truekeep.protect.wrap.langgraph import protect_store
from truekeep.protect.wrap.reconcile import reconcile

_MOST_STEPS = 60


def state_after(count: int) -> dict[str, str]:
    """What the store has to hold after so many writes."""
    found: dict[str, str] = {}
    for key, text in WRITES[:count]:
        found.pop(key, None)
        found |= {key: text} if text else {}
    return found


def killed(home: Path, file: Path, step: int) -> tuple[int, bool]:
    """How many writes were acknowledged, and whether the process was killed."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.protect.killed_writer", str(home), str(file), str(step)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRUEKEEP_EMBEDDER": "none"},
        timeout=120,
    )
    assert run.returncode in (0, -9), run.stderr[-2000:]
    return len(run.stdout.split()), run.returncode == -9


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_any_step_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    for step in range(1, _MOST_STEPS):
        place = tmp_path / str(step)
        place.mkdir()
        file = place / "store.db"
        connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        store = SqliteStore(connection)
        store.setup()
        acknowledged, was_killed = killed(place / "home", file, step)
        with Keep.open("alice", home=place / "home", background=False) as keep:
            wrapped = protect_store(store, keep, channel="user", mode="enforce")
            reconcile(wrapped, apply=True)
            held: dict[str, Any] = {item.key: item.value["data"] for item in store.search(NS)}
            assert held in (state_after(acknowledged), state_after(acknowledged + 1)), step
            rows = {row.place.key: row for row in keep.entries.all("langgraph")}
            assert rows.keys() == held.keys(), step
            assert not [row for row in rows.values() if row.pending is not None], step
            doubled = Counter(one["content"] for one in keep.get_memories())
            assert all(times == 1 for times in doubled.values()), step
            for key in held:
                shown = wrapped.get(NS, key)
                assert shown is not None
                assert shown.value["truekeep"]["may_act"] is True, step
        connection.close()
        if not was_killed:
            assert acknowledged == len(WRITES)
            print(f"killed at {step - 1} steps")
            return
    raise AssertionError("the writer has more steps than this test kills it at")
