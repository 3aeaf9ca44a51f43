"""Whatever is called with whatever text: an answer or a clear refusal, soon, and every promise holds.

The long profile takes hours, so it is better run by hand, where it can be stopped and taken up again:
``python -m tests.fuzz``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fuzz import gate
from tests.fuzz.runs import run
from tests.fuzz.watching import SLOWEST, Finding, promise, watched
from tests.fuzz.world import World
from tests.yardstick import allowed
from truekeep import Keep

pytestmark = pytest.mark.slow

LONG = bool(os.environ.get("TRUEKEEP_LONG"))
CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))


@pytest.mark.timeout(0 if LONG else 300)
@pytest.mark.parametrize(
    ("kind", "count"), [("texts", 1_000_000 if LONG else 500), ("sequences", 200_000 if LONG else 120)]
)
def test_random_cases_break_nothing(tmp_path: Path, kind: str, count: int) -> None:
    progress = run(kind, count, seconds=1e9, state=tmp_path / "state.json", told=print)
    assert progress.findings == []
    assert progress.next == count


@pytest.mark.parametrize("case", CASES["sequences"], ids=lambda case: case["why"])
@pytest.mark.parametrize("policy", ["inform", "strict"])
def test_what_random_sequences_broke_once_holds(home: Path, case: dict[str, Any], policy: str) -> None:
    world = World(home, "alice", policy)
    world.carry_out(case["calls"])
    world.settle()
    world.keep.close()


@pytest.mark.parametrize("case", CASES["texts"], ids=lambda case: repr(case["repeat"]))
def test_texts_that_are_dear_to_read_take_no_second(informed: Keep, case: dict[str, Any]) -> None:
    text = case["repeat"] * case["times"]
    informed.remember("The gate is green.", via="user")
    for via in ("user", "web"):
        gate.put_through(informed, {"text": text, "via": via})
    watched("observe", lambda: informed.observe("s-1", "user", text))
    watched("recall", lambda: informed.recall(text[:2000]))
    watched("check_action", lambda: informed.check_action("s-1", "pay", {"account": text[:1000]}))
    assert informed.audit.verify().ok


def test_a_call_that_breaks_is_found() -> None:
    """The harness itself: an error that is not the house's, a slow call and a broken promise are findings."""
    with pytest.raises(Finding, match="ZeroDivisionError"):
        watched("dividing", lambda: 1 / 0)
    with pytest.raises(Finding, match="s of CPU"):
        watched("counting", _busy)
    with pytest.raises(Finding):
        promise(False, "nothing")


def _busy() -> None:
    """Longer than a call may take, however fast the machine is."""
    bound, began = allowed(SLOWEST), time.thread_time()
    while time.thread_time() - began < 2 * bound:
        pass


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    state, told = tmp_path / "state.json", list[str]()
    first = run("texts", 10, 1e9, state, told.append)
    again = run("texts", 12, 1e9, state, told.append)
    assert (first.next, again.next) == (10, 12)
    assert again.cpu > first.cpu
