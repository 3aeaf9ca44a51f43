"""agmi, the public yardstick for the integrity of agents' memories: what it says about a keep, as rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers.environments import interpreter
from truekeep.redteam.figures import CannotRun, Progress, ResultRow, silent

if TYPE_CHECKING:
    from benchmarks.yardsticks.agmi_at_rest import Memories
    from benchmarks.yardsticks.agmi_semantic import Recalls

PACKAGES = ("agent-memory-integrity==0.6.3",)
_METRIC = "agmi_refused"
_REFUSED = "REJECTED"
_POLICIES = (("strict", False), ("inform", True))


def measure_agmi(cache_dir: Path | None, progress: Progress = silent) -> Iterator[ResultRow]:
    """How many of its edits at rest are refused on the read path, and how many of its attackers' writes are kept out.

    An installed yardstick is used; else it is fetched into ``cache_dir``, and without one left out with the reason.
    """
    try:
        _require(cache_dir)
    except CannotRun as reason:
        yield ResultRow(part="yardstick", metric=_METRIC, hits=0, total=0, note=f"left out: {reason}")
        return
    from benchmarks.yardsticks.agmi_at_rest import Memories, TwoKeeps
    from benchmarks.yardsticks.agmi_semantic import Recalls

    for done, (name, adapter) in enumerate((("one keep", Memories()), ("two keeps", TwoKeeps())), 1):
        yield _at_rest(f"edits at rest, {name}", adapter)
        progress("agmi", done, 4)
    for done, (policy, acting) in enumerate(_POLICIES, 3):
        recalls = Recalls(lambda: None, policy=policy, acting=acting)
        try:
            yield _written(f"writes, policy {policy}{', what may act' if acting else ''}", recalls)
        finally:
            recalls.close()
        progress("agmi", done, 4)


def _require(cache_dir: Path | None) -> None:
    """Make the yardstick importable. Ours comes first wherever both have a package."""
    if find_spec("agmi") is not None:
        return
    if cache_dir is None:
        raise CannotRun("agent-memory-integrity is not installed, and there is nowhere to fetch it to")
    place = interpreter("agmi", PACKAGES, cache_dir).parent.parent
    for packages in sorted(place.glob("lib/python*/site-packages")):
        sys.path.append(str(packages))


def _at_rest(name: str, adapter: Memories) -> ResultRow:
    from agmi.check import run

    began = time.process_time()
    cases = {case["edit"]: case["verdict"] for case in run(adapter)}
    refused = sum(verdict == _REFUSED for verdict in cases.values())
    return _row(name, refused, len(cases), cases | {"cpu_seconds": round(time.process_time() - began, 1)})


def _written(name: str, recalls: Recalls) -> ResultRow:
    """Every attack over every channel; what surfaced counts against us, and so does what could not be measured."""
    from agmi.attacks.memory_specific import ALL_MEMORY_ATTACKS

    cases: dict[str, object] = {}
    kept_out = tried = 0
    for attack in ALL_MEMORY_ATTACKS:
        result = attack().run(recalls)
        for channel, surfaced in result.channels.items():
            held = sum(outcome is False for outcome in surfaced)
            cases[f"{result.attack}: {channel}"] = [held, len(surfaced)]
            kept_out, tried = kept_out + held, tried + len(surfaced)
    return _row(name, kept_out, tried, cases)


def _row(name: str, hits: int, total: int, cases: dict[str, object]) -> ResultRow:
    return ResultRow(part="yardstick", metric=_METRIC, hits=hits, total=total, attack=name, detail=cases)
