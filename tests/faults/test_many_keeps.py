"""Many keeps in one process, one after another: neither handles nor threads nor memory pile up."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from tests.crash.nursery import SETTINGS
from tests.faults.child import in_child
from truekeep import Keep

pytestmark = pytest.mark.slow

KEEPS = int(os.environ.get("TRUEKEEP_KEEPS", "0")) or (10_000 if os.environ.get("TRUEKEEP_LONG") else 200)
WARM = min(1_100, KEEPS // 5)
"""After so many everything is loaded that is loaded once, and what is kept of the last thousand texts is full."""
MOST_GROWTH = 6 * 1024 * 1024
"""Bytes, however many keeps there are: a leak of 32 KB a keep shows with 200, and one of 600 bytes with 10,000."""


@dataclass
class Use:
    """What the process holds at a moment."""

    handles: int
    threads: int
    memory: int

    @classmethod
    def now(cls) -> Use:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        handles = sum(1 for _ in Path("/proc/self/fd").iterdir())
        return cls(handles, threading.active_count(), pages * os.sysconf("SC_PAGE_SIZE"))


def _text(number: int) -> str:
    """Another text for each keep, of few words, since the stems of many words are kept for all keeps."""
    return f"The office of firm {number // 100} is in room {number % 100}."


def _make(home: Path, number: int) -> None:
    with Keep.open(f"keep-{number}", home=home, settings=SETTINGS) as keep:
        assert keep.remember(_text(number), via="user").accepted


def _use(home: Path, number: int) -> None:
    with Keep.open(f"keep-{number}", home=home, settings=SETTINGS) as keep:
        (hit,) = keep.recall("Where is the office?")
        assert hit.text == _text(number), "another keep's memory"


def _settle_names() -> None:
    """Let the interpreter's table of names, which holds a path's parts while it lives, grow as far as it ever does.

    It doubles when it is full of names that are gone, once in thousands of keeps, and that is nobody's leak.
    """
    for number in range(300_000):
        sys.intern(f"a name that is gone at once {number}")


def _in_turn(home: Path, keeps: int) -> list[tuple[Use, Use, float]]:
    """Make all of them, then open all of them again; what was held early and at the end, and the CPU of each keep."""
    found = []
    for step in (_make, _use):
        for number in range(WARM):
            step(home, number)
        _settle_names()
        early, started = Use.now(), time.process_time()
        for number in range(WARM, keeps):
            step(home, number)
            if number % WARM == 0:
                gc.collect()  # a closed keep is a cycle; what is only not collected yet leaves holes, not a leak
        found.append((early, Use.now(), (time.process_time() - started) / (keeps - WARM)))
    return found


@pytest.mark.timeout(0 if KEEPS > 200 else 300)
@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_keeps_opened_in_turn_leave_nothing_behind(home: Path) -> None:
    for what, (early, late, cost) in zip(("made", "opened"), in_child(_in_turn, home, KEEPS), strict=True):
        print(f"{what} {KEEPS:,} keeps: {cost * 1e3:.1f} ms CPU each, {late.memory - early.memory:+,} bytes, {late}")
        assert late.handles == early.handles
        assert late.threads == early.threads
        assert late.memory - early.memory < MOST_GROWTH


def test_making_a_keep_does_not_look_at_all_the_others(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []

    def listing(*where: object, **_: object) -> NoReturn:
        listed.append(where)
        raise AssertionError("the key directory was listed")

    _make(home, 1)
    with monkeypatch.context() as patch:  # the directory of the test itself is cleared away by listing it
        for name in ("glob", "rglob", "iterdir"):
            patch.setattr(Path, name, listing)
        patch.setattr(os, "listdir", listing)
        patch.setattr(os, "scandir", listing)
        _make(home, 2)
        _use(home, 2)
    assert listed == []


def _at_once(home: Path, keeps: int) -> tuple[Use, Use, Use]:
    before = Use.now()
    held = [Keep.open(f"keep-{number}", home=home, settings=SETTINGS) for number in range(keeps)]
    for number, keep in enumerate(held):
        keep.remember(f"The office of firm {number} is in Nitra.", via="user")
    during = Use.now()
    for keep in held:
        keep.close()
    return before, during, Use.now()


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_an_open_keep_holds_a_few_handles_and_no_thread_and_closing_lets_go_of_them(home: Path) -> None:
    before, during, after = in_child(_at_once, home, 30)
    assert during.handles - before.handles <= 30 * 4, "the database, its log, the log's index and the anchor"
    assert during.threads == before.threads
    assert after.handles == before.handles
