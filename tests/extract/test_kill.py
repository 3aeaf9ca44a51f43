"""Killed at any step of a promotion, and again while it recovers: every fact is there once in the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from truekeep import Keep, Settings

pytestmark = pytest.mark.slow

NUMBERS = range(2, 20)
FACTS = sorted(f"I own {number} apple trees." for number in NUMBERS)

# Each child dies by SIGKILL right before or right after the chosen step, so that every gap is met for certain. They are
# forked by one process that has done nothing but import, because that is most of what a process costs.
VICTIMS = """
import json, os, signal, sys
from truekeep import Keep, Settings
from truekeep.extract import run as distil
from truekeep.screens.standard import LivePanel
from truekeep.stores.anchor import FileAnchor
from truekeep.stores.entry import Entry
from truekeep.stores.sqlite import SqliteBackend

distil._MOST_MESSAGES = 3
PLACES = {"event": (Entry, "event"), "insert": (SqliteBackend, "insert"), "anchor": (FileAnchor, "advance")}

def die(home, step, when, deadly):
    owner, name = PLACES[step]
    whole, count = getattr(owner, name), 0

    def counted(*arguments, **named):
        nonlocal count
        count += 1
        if count == deadly and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = whole(*arguments, **named)
        if count == deadly and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    keep = Keep.open("alice", home=home, settings=Settings(embedder="none"))
    setattr(owner, name, counted)
    keep.extract("s-1")

for step in json.loads(sys.argv[2]):
    child = os.fork()
    if child == 0:
        die(sys.argv[1], *step)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
STEPS = [
    ("event", "before", 1),  # the job is not taken yet
    ("event", "after", 1),  # taken, but not committed
    ("anchor", "before", 1),  # committed, but the anchor does not know: the next one takes it over
    ("insert", "after", 3),  # in the middle of the memories
    ("event", "before", 5),  # all memories are written, how far the session was read is not
    ("event", "after", 5),  # that too, but nothing is committed
    ("anchor", "before", 2),  # the first batch is committed
    ("anchor", "after", 3),  # two more, one for each run
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_wherever_it_is_killed_every_fact_is_promoted_exactly_once(home: Path) -> None:
    settings = Settings(embedder="none")
    with Keep.open("alice", home=home, settings=settings) as keep:
        for number in NUMBERS:
            keep.observe("s-1", "user", f"I own {number} apple trees.")
    command = [sys.executable, "-c", VICTIMS, str(home), json.dumps(STEPS)]
    died = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert died == [str(-signal.SIGKILL)] * len(STEPS)
    with Keep.open("alice", home=home, settings=settings) as keep:
        before = len(keep.get_memories())
        assert 0 < before < len(FACTS)
        done = keep.extract("s-1")
        assert len(done.taken) == len(FACTS) - before
        assert sorted(memory["content"] for memory in keep.get_memories()) == FACTS
        assert keep.audit.verify().ok
