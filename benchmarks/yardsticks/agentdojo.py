"""AgentDojo's injected documents, fetched by name into an environment of its own.

Nothing of AgentDojo is part of this project: its package is installed for the run, and a small worker prints what its
agents would read.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.environments import interpreter, last_lines, quiet_environ
from truekeep.config import Settings
from truekeep.redteam.documents import SETTINGS, Injected, measure_documents, some
from truekeep.redteam.figures import CannotRun, Progress, ResultRow, silent

PACKAGES = ("agentdojo==0.1.35",)
NAME = "AgentDojo 0.1.35"
_WORKER = Path(__file__).with_name("agentdojo_worker.py")
_SECONDS = 900


def measure_agentdojo(
    cache_dir: Path, limit: int | None = None, progress: Progress = silent, *, settings: Settings = SETTINGS
) -> Iterator[ResultRow]:
    """The rows of ``measure_documents`` for so many of AgentDojo's documents; one that says why if there are none."""
    try:
        fetched = some(agentdojo_documents(cache_dir), limit)
    except CannotRun as reason:
        yield ResultRow(part="yardstick", metric="acting", hits=0, total=0, attack=NAME, note=f"left out: {reason}")
        return
    yield from measure_documents(fetched, NAME, settings, progress)


def agentdojo_documents(cache_dir: Path) -> list[Injected]:
    """What AgentDojo's agents would read; raises ``CannotRun``."""
    kept = cache_dir / "agentdojo" / f"{PACKAGES[0].replace('==', '-')}.jsonl"
    if not kept.is_file():
        python = interpreter("agentdojo", PACKAGES, cache_dir)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(_printed(python), encoding="utf-8")
    with kept.open(encoding="utf-8") as lines:
        return [Injected.from_dict(json.loads(line)) for line in lines]


def _printed(python: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="truekeep-agentdojo-") as home:
        command = [str(python), "-I", str(_WORKER)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=_SECONDS,
                env=quiet_environ(Path(home)),
                cwd=home,
            )
        except subprocess.TimeoutExpired:
            raise CannotRun(f"AgentDojo's worker was not done within {_SECONDS} s") from None
    if done.returncode or not done.stdout:
        raise CannotRun(f"AgentDojo's worker failed: {last_lines(done.stderr)}")
    return done.stdout
