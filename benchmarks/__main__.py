"""One runner: prints a table, writes JSON to benchmarks/results/, exits 1 if a bound is broken.

python -m benchmarks            all of the quick ones
python -m benchmarks store      only those named
python -m benchmarks soak       half an hour with TRUEKEEP_BENCH_SOAK=1800, a minute without
python -m benchmarks fairness   another tenant's recall while one caller does its worst
python -m benchmarks postgres   keeps in PostgreSQL beside files; TRUEKEEP_BENCH_KEEPS=100000 for very many
python -m benchmarks processes  two service processes on one database beside one, and keeps that are cold
python -m benchmarks migrate    moving in beside the embedder alone; TRUEKEEP_BENCH_ENTRIES=100000 for a large memory
python -m benchmarks startup    how long a desktop agent, Claude Code's hooks and a command wait for a process, warm
python -m benchmarks memory     is what people said found again, side by side with plain cosine; takes paths of data
python -m benchmarks screens    the screens on public sets, family by family; has options and tables of its own
python -m benchmarks redteam    the published red-team report; has options and a table of its own
python -m benchmarks calls PATH | trajectories [PATH] | ablation [PATH]
                                how the act boundary fares on other people's calls and sessions
python -m benchmarks agentdojo [SUITE …]
                                AgentDojo whole, by its own checks, with every call put to the act boundary
python -m benchmarks position [SET …]
                                defences side by side at the tool call: attacks carried out against questions asked
python -m benchmarks grounds [SET …] [--from SET=PATH]
                                other people's sets of memory attacks, one module a set
python -m benchmarks protect-files DATA [FOLDER …]
                                alarms on honest instruction files, and plants that are found in them
python -m benchmarks framework-tests NAME CHECKOUT
                                a framework's own tests of its stores and sessions, run against ours
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks.harness import Figure, table

QUICK = {
    "store": "benchmarks.store",
    "influence": "benchmarks.influence",
    "extract": "benchmarks.extract",
    "pastes": "benchmarks.pastes",
    "forget": "benchmarks.forget",
    "recall": "benchmarks.recall_keep",
    "serve": "benchmarks.serve",
    "protect-proxy": "benchmarks.protect_proxy",
}
LONG = {
    "soak": "benchmarks.serve_soak",
    "fairness": "benchmarks.serve_fairness",
    "postgres": "benchmarks.postgres",
    "processes": "benchmarks.serve_processes",
    "migrate": "benchmarks.migrate",
    "startup": "benchmarks.startup",
}
"""Those that run only when they are named."""
BOUNDARY = {
    "calls": "benchmarks.boundary.calls",
    "trajectories": "benchmarks.boundary.trajectories",
    "ablation": "benchmarks.boundary.ablation",
    "protect-files": "benchmarks.protect_files",
}
"""Those that take a file to measure on."""
NAMED = {
    "agentdojo": "benchmarks.agentdojo",
    "position": "benchmarks.tool_call.position",
    "framework-tests": "benchmarks.framework_tests",
}
"""Those that take names of what to measure."""
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> int:
    if names[:1] == ["redteam"]:
        from benchmarks.redteam.__main__ import redteam

        redteam(names[1:], prog_name="python -m benchmarks redteam")
    if names[:1] == ["grounds"]:
        from benchmarks.grounds.runner import grounds

        grounds(names[1:], prog_name="python -m benchmarks grounds")
    if names[:1] and names[0] in BOUNDARY:
        return _report(import_module(BOUNDARY[names[0]]).measure(*map(Path, names[1:])))
    if names[:1] and names[0] in NAMED:
        return _report(import_module(NAMED[names[0]]).measure(*names[1:]))
    if names[:1] == ["memory"]:
        from benchmarks.memory import main as memory

        return memory(names[1:])
    if names[:1] == ["screens"]:
        from benchmarks.screens import main as screens

        return screens(names[1:])
    known = QUICK | LONG
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"No such benchmark: {', '.join(unknown)}. There are: {', '.join(known)}.", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    for name in names or QUICK:
        print(f"measuring {name} …", file=sys.stderr)
        figures += import_module(known[name]).measure()
    return _report(figures)


def _report(figures: list[Figure]) -> int:
    Console().print(table(figures))
    _write(figures)
    return 0 if all(figure.ok for figure in figures) else 1


def _write(figures: list[Figure]) -> None:
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    report = {
        "at": now.isoformat(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "figures": [asdict(figure) | {"ok": figure.ok} for figure in figures],
    }
    path = RESULTS / f"{now:%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps(report, indent=2))
    print(f"written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
