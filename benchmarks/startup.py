"""Start-up, warm: a server of a desktop agent's to its answers, an event of Claude Code's, and two commands.

Each run is a process of its own over a keep that has been used before, with Python's bytecode at hand as it is after an
installation. CPU time is the process's own, threads included, when an answer arrives; the wall has the machine's other
work in it. Rounds go by turns, and the median of each counts.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Figure

ROUNDS = 7
_TICK = os.sysconf("SC_CLK_TCK")
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "desktop", "version": "1"}}
REQUESTS: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": CLIENT},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "memory_snapshot", "arguments": {}}},
    {"id": 4, "method": "tools/call", "params": {"name": "search_memories", "arguments": {"query": "my desk"}}},
]
ANSWERS = {1: "initialize", 2: "list of tools", 3: "snapshot", 4: "search"}
CALL = {"tool_name": "Read", "tool_input": {"file_path": "notes.txt"}, "tool_use_id": "call-1"}
EVENTS: dict[str, dict[str, Any]] = {
    "UserPromptSubmit": {"prompt": "Read my notes, please."},
    "PreToolUse": CALL,
    "PostToolUse": CALL | {"tool_response": "The choir sings on Tuesdays."},
    "Stop": {"last_assistant_message": "The choir sings on Tuesdays."},
}
BOUNDS = {
    "mcp: initialize": 1.0,
    "mcp: list of tools": 1.0,
    "mcp: snapshot": 1.0,
    **{f"hook: {name}": 1.0 for name in EVENTS},
}
"""Seconds, of CPU and by the wall: what a person waits for. A first search also loads the embedder."""
Took = dict[str, tuple[float, float]]
"""Seconds of CPU and by the wall, of each thing."""


def measure() -> list[Figure]:
    """Seconds to each answer, of CPU and by the wall."""
    with tempfile.TemporaryDirectory() as home:
        run = Runs(Path(home))
        run.once("remember", "My desk is in room 12, by the window.")
        each: list[Callable[[], Took]] = [run.bare, run.server, run.hook, run.commands]
        rounds = [took for _ in range(ROUNDS + 1) for took in [one() for one in each]][len(each) :]
    names = dict.fromkeys(name for took in rounds for name in took)
    return [figure for name in names for figure in _figures(name, [took[name] for took in rounds if name in took])]


def _figures(name: str, took: list[tuple[float, float]]) -> list[Figure]:
    cpu, wall = (statistics.median(one) for one in zip(*took, strict=True))
    return [
        Figure(f"{name}, CPU", cpu, "s", bound=BOUNDS.get(name)),
        Figure(f"{name}, by the wall", wall, "s", note="the machine's load is in it"),
    ]


class Runs:
    """Processes over one home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        known = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
        self._variables = known | {"TRUEKEEP_HOME": str(home / "keeps"), "CLAUDE_CONFIG_DIR": str(home / "claude")}
        self._hooked = 0

    def bare(self) -> Took:
        """Python alone."""
        return {"bare Python": self._timed([sys.executable, "-c", "pass"])}

    def commands(self) -> Took:
        """Two commands of a person's."""
        return {
            "truekeep remember": self.once("remember", "The choir sings on Tuesdays."),
            "truekeep recall": self.once("recall", "Where is my desk?"),
        }

    def hook(self) -> Took:
        """The events of a session of Claude Code's, a process each."""
        self._hooked += 1
        given = {"session_id": f"bench-{self._hooked}", "cwd": str(self._home), "permission_mode": "default"}
        command = [sys.executable, "-m", "truekeep", "hook", "claude-code"]
        return {
            f"hook: {name}": self._timed(command, json.dumps(given | {"hook_event_name": name} | event))
            for name, event in EVENTS.items()
        }

    def server(self) -> Took:
        """``truekeep mcp`` from its start to each answer of a conversation's beginning."""
        took: Took = {}
        began = time.perf_counter()
        with self._serving() as server:
            assert server.stdin is not None
            assert server.stdout is not None
            for request in REQUESTS:
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
                server.stdin.flush()
                if "id" in request:
                    answer = json.loads(server.stdout.readline())
                    if answer.get("id") != request["id"] or answer.get("result", {}).get(
                        "isError", "result" not in answer
                    ):
                        raise SystemExit(f"this is not the answer: {answer}")
                    took[f"mcp: {ANSWERS[request['id']]}"] = _cpu(server.pid), time.perf_counter() - began
        return took

    def once(self, *arguments: str) -> tuple[float, float]:
        """What a command takes."""
        return self._timed([sys.executable, "-m", "truekeep", *arguments])

    @contextmanager
    def _serving(self) -> Iterator[subprocess.Popen[str]]:
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        command = [sys.executable, "-m", "truekeep", "mcp"]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, text=True, env=self._variables) as server:
            yield server
            server.communicate(timeout=60)

    def _timed(self, command: list[str], given: str = "") -> tuple[float, float]:
        before, began = os.times(), time.perf_counter()
        ran = subprocess.run(command, input=given, capture_output=True, text=True, env=self._variables, check=False)
        if ran.returncode != 0:
            raise SystemExit(f"{command} failed: {ran.stderr}")
        after = os.times()
        cpu = after.children_user - before.children_user + after.children_system - before.children_system
        return cpu, time.perf_counter() - began


def _cpu(process: int) -> float:
    """Seconds of CPU that a process has taken until now."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICK
