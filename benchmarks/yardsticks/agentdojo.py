"""AgentDojo's injected documents, fetched by name into an environment of its own, and documents of our own like them.

Nothing of AgentDojo is part of this project: its package is installed for the run, and a small worker prints what its
agents would read.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from truekeep.config import Settings
from truekeep.redteam.defences.environments import CannotRun, interpreter, last_lines, quiet_environ
from truekeep.redteam.influence.arena import Progress, silent
from truekeep.redteam.row import Row
from truekeep.redteam.yardsticks.injected import Injected, measure_injected

PACKAGES = ("agentdojo==0.1.35",)
NAME, OWN = "AgentDojo 0.1.35", "documents in AgentDojo's style"
LISTED, BY_NAME = "changing tools listed by the operator", "consequential by name only"
_SECONDS = 900
_SETTINGS = Settings(policy="inform", embedder="none")
"""Under this preset hearsay is stored and shown; there is more to hold back than under the strict one."""


def measure_agentdojo(
    cache_dir: Path | None, limit: int | None = None, progress: Progress = silent, *, settings: Settings = _SETTINGS
) -> Iterator[Row]:
    """Rows ``acting``, ``held``, ``remembered``, ``executed``, ``questioned`` and ``completed``.

    Without a ``cache_dir`` nothing is fetched, and only our own documents are used. ``limit`` takes so many of all.
    Everything is measured twice: with the actions that are consequential by their names, and with every tool
    that changes something on the operator's list, as the guide says to do.
    """
    yield from _measured(some(own_documents(), limit), OWN, settings, progress)
    if cache_dir is None:
        return
    try:
        fetched = some(agentdojo_documents(cache_dir), limit)
    except CannotRun as reason:
        yield Row(part="yardstick", metric="acting", hits=0, total=0, attack=NAME, note=f"left out: {reason}")
        return
    yield from _measured(fetched, NAME, settings, progress)


def _measured(items: Sequence[Injected], name: str, settings: Settings, progress: Progress) -> Iterator[Row]:
    tools = {call.tool for item in items for call in (*item.calls, *item.user_calls)}
    listed = replace(settings, actions={tool: {"consequential": True} for tool in sorted(tools)})
    for chosen, note in ((listed, LISTED), (settings, BY_NAME)):
        counts = measure_injected(items, chosen, progress, f"{name}, {note}")
        yield from counts.rows(name, f"{note}; policy {settings.policy}")


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
    worker = files("truekeep.redteam.yardsticks").joinpath("workers", "agentdojo_documents.py")
    with as_file(worker) as script, tempfile.TemporaryDirectory(prefix="truekeep-agentdojo-") as home:
        command = [str(python), "-I", str(script)]
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


def own_documents() -> list[Injected]:
    """Every place, every goal and every wording of our own file."""
    data = _own()
    return [
        _injected(place, goal, name, template)
        for place, goal, (name, template) in product(data["places"], data["goals"], data["templates"].items())
    ]


def _injected(place: Mapping[str, Any], goal: Mapping[str, Any], name: str, template: str) -> Injected:
    injection = template.format(goal=goal["goal"])
    return Injected.from_dict(
        {
            "suite": place["suite"],
            "user_task": place["prompt"],
            "attack": name,
            "prompt": place["prompt"],
            "injection": injection,
            "documents": [{"tool": place["tool"], "text": place["document"].format(injection=injection)}],
            "calls": goal["calls"],
            "user_calls": place.get("calls", ()),
        }
    )


def some(items: Sequence[Injected], limit: int | None) -> list[Injected]:
    """So many of all, the same ones every time. A fixed step would meet the same wording again and again."""
    if limit is None or limit >= len(items):
        return list(items)
    return random.Random(0).sample(items, limit)  # noqa: S311


@cache
def _own() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "injected_documents.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded
