"""Other defences as judges: each a process in an environment of its own, made when it is first asked."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.peers.environments import interpreter, last_lines
from benchmarks.peers.worker_process import WorkerProcess
from benchmarks.tool_call.judges import Brief, Verdict
from truekeep.redteam.figures import CannotRun

_HERE = Path(__file__).parent
_SECONDS = 300.0


@dataclass(frozen=True)
class Peer:
    """One of them, and how it is installed."""

    name: str
    worker: str
    packages: tuple[str, ...]
    commit: str = ""

    def opened(self, cache: Path) -> PeerJudge:
        """Its process; raises ``CannotRun``."""
        packages = [*self.packages, *([str(_checked_out(self.commit, cache))] if self.commit else [])]
        return PeerJudge(self.name, interpreter(f"judge-{self.worker}", packages, cache), self.worker)


def peers() -> Iterator[Peer]:
    """All of them."""
    for one in yaml.safe_load((_HERE / "peers.yaml").read_text(encoding="utf-8"))["peers"]:
        yield Peer(one["name"], one["worker"], tuple(one.get("packages", ())), one.get("commit", ""))


class PeerJudge:
    """A worker's process that answers for its defence."""

    def __init__(self, name: str, python: Path, worker: str) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="truekeep-peer-")
        script = _HERE / "workers" / f"{worker}_judge.py"
        self._worker = WorkerProcess(name, [str(python), str(script)], Path(self._home.name), _SECONDS)
        self._worker.hear(_no_questions)

    def begin(self, brief: Brief) -> None:
        """The owner's words and the tools; plans and grants are not known to others."""
        tools = [
            {"name": tool.name, "reads": tool.is_reading, "own": tool.own, "owner_writes": list(tool.owner_writes)}
            for tool in brief.tools
        ]
        self._ask(do="begin", said=brief.said, tools=tools)

    def judged(self, name: str, arguments: Mapping[str, Any], *, is_honest: bool) -> Verdict:
        """What it answers; a yes is told to it."""
        answer = self._ask(do="judge", name=name, arguments=arguments)
        if answer["decision"] == "confirm" and is_honest:
            self._ask(do="confirmed", name=name, arguments=arguments)
        return answer["decision"], answer["code"]

    def seen(self, name: str, value: Any) -> bool:
        """Whether it lets the agent see a result."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        return bool(self._ask(do="seen", name=name, text=text)["shown"])

    def end(self) -> None:
        """The next session begins anew."""

    def close(self) -> None:
        """End the process."""
        self._worker.end()
        self._home.cleanup()

    def _ask(self, **request: Any) -> dict[str, Any]:
        return self._worker.ask(request, _no_questions)


def _no_questions(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    raise ValueError(f"a question that nobody answers: {sorted(asked)}")


def _checked_out(commit: str, cache: Path) -> Path:
    """The source of a commit of this repository; raises ``CannotRun``."""
    place = cache / "commits" / commit
    if not (place / "pyproject.toml").is_file():
        place.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(
            ["git", "-C", str(_HERE.parents[1]), "archive", "--format=tar", commit], capture_output=True, check=False
        )
        unpacked = subprocess.run(
            ["tar", "-x", "-C", str(place)], input=archive.stdout, capture_output=True, check=False
        )
        if archive.returncode or unpacked.returncode:
            raise CannotRun(f"commit {commit} is not in this clone: {last_lines(archive.stderr.decode())}")
    return place
