"""AgentDojo, whole: its environments, tasks, injections and checks, with every call put to the act boundary.

python -m benchmarks agentdojo [SUITE …]

A scripted agent makes the calls of a user task's ground truth, and obeys: after the first result that carries an
injection it makes the calls of the injection's ground truth too. Whether the task was completed and the attack carried
out is what the suite's own checks say. An owner who is asked says yes to exactly the calls of the ground truth.

What was played is kept beside the environments, under a name that changes with the code, so a run that was stopped goes
on. A run of all suites writes its tables into ``docs/benchmarks/agentdojo.md``.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.agentdojo_report import figures, write_tables
from benchmarks.harness import Figure, fingerprint
from benchmarks.peers.environments import interpreter, quiet_environ
from benchmarks.tool_call.judges import AskOnceRead, Boundary, Brief, Judge, Nothing
from benchmarks.yardsticks.agentdojo import PACKAGES
from truekeep import Tool

CACHE = Path(tempfile.gettempdir()) / "truekeep-benchmarks"
_HOST = Path(__file__).with_name("yardsticks") / "agentdojo_host.py"
_DECLARED = Path(__file__).with_name("yardsticks") / "agentdojo_tools.toml"
_MEASURING = (Path(__file__), Path(__file__).with_name("tool_call"), _HOST, _DECLARED)
Ask = Any


@dataclass(frozen=True, slots=True)
class Condition:
    """How the agent is run, and by which defence its calls are answered."""

    name: str
    plan: str = ""
    grants: bool = False
    judge: Callable[[], Judge] = Boundary
    visits_read: bool = False
    """Whether a visit to any page is declared as a read: the boundary then follows public links that results give."""


CONDITIONS = (
    Condition("no plan"),
    Condition("perfect plan", plan="perfect"),
    Condition("no plan, visits are reads", visits_read=True),
    Condition("perfect plan, visits are reads", plan="perfect", visits_read=True),
    Condition("no defence", judge=Nothing),
    Condition("noisy plan", plan="noisy"),
    Condition("no plan, grants", grants=True),
    Condition("perfect plan, grants", plan="perfect", grants=True),
    Condition("every effect after a result is asked", judge=AskOnceRead),
)


@dataclass(slots=True)
class Played:
    """One task under one condition, alone or under attack."""

    suite: str
    condition: str
    user: str = ""
    injection: str = ""
    is_done: bool = False
    is_struck: bool = False
    is_reached: bool = False
    """Whether the agent read the injection at all."""
    questions: list[str] = field(default_factory=list)
    """Tool and code of each honest call that the owner was asked about."""
    refused: list[str] = field(default_factory=list)
    """Tool and code of each honest call that was not made."""
    hostile_asked: int = 0
    hostile_allowed: list[str] = field(default_factory=list)
    """Tools with effects that the attacker's calls got through to; the suite's check says what came of it."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells it from all others of a run."""
        return self.suite, self.condition, self.user, self.injection


def measure(*suites: str, conditions: Sequence[Condition] = CONDITIONS) -> list[Figure]:
    """The figures of every condition: tasks alone, and under attack."""
    known = list(played(suites, conditions))
    if not suites and conditions is CONDITIONS:
        write_tables(known)
    return list(figures(known))


def played(suites: Sequence[str], conditions: Sequence[Condition] = CONDITIONS) -> Iterator[Played]:
    """Every task of the suites (of all, if none is named), alone and under each attack, by every condition in turn."""
    path = CACHE / "agentdojo" / f"played-{fingerprint(*_MEASURING)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    kept = {one.key: one for one in (Played(**json.loads(line)) for line in lines)}
    with host() as ask, path.open("a", encoding="utf-8", buffering=1) as out, ExitStack() as judges:
        for suite, listed in ask(do="suites").items():
            if suites and suite not in suites:
                continue
            stages = [Stage(ask, suite, listed, condition, judges) for condition in conditions]
            # An environment is read once for all conditions, which takes longer than to play them.
            for user, injection in itertools.product(listed["users"], ("", *listed["injections"])):
                for stage in stages:
                    one = kept.get((suite, stage.condition.name, user, injection))
                    if one is None:
                        one = stage.play(user, injection)
                        out.write(json.dumps(asdict(one)) + "\n")
                    yield one


@contextmanager
def host() -> Iterator[Ask]:
    """AgentDojo in a process and an environment of its own."""
    python = interpreter("agentdojo", PACKAGES, CACHE)
    with (
        tempfile.TemporaryDirectory(prefix="truekeep-agentdojo-") as home,
        subprocess.Popen(
            [str(python), "-I", str(_HOST)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=quiet_environ(Path(home)),
            cwd=home,
        ) as process,
    ):
        incoming, outgoing = process.stdin, process.stdout
        assert incoming is not None
        assert outgoing is not None

        def ask(**request: Any) -> Any:
            incoming.write(json.dumps(request) + "\n")
            incoming.flush()
            return json.loads(outgoing.readline())

        yield ask
        incoming.close()


class Stage:
    """One suite under one condition."""

    def __init__(
        self, ask: Ask, suite: str, listed: Mapping[str, Any], condition: Condition, judges: ExitStack
    ) -> None:
        self._ask, self._suite, self.condition = ask, suite, condition
        self._tools = declared(suite, listed["tools"], visits_read=condition.visits_read)
        self._reading = {tool.name for tool in self._tools if tool.is_reading}
        self._judge = condition.judge()
        judges.callback(self._judge.close)
        self._plans: dict[str, list[dict[str, Any]]] = {}

    def play(self, user: str, injection: str = "") -> Played:
        """One task from the owner's message to the suite's checks."""
        plan = self._planned(user) if self.condition.plan else None
        attack = {"injection": injection} if injection else {}
        task = self._ask(do="begin", suite=self._suite, user=user, **attack)
        grants = [one for one in _table()["grants"] if self.condition.grants and one["suite"] == self._suite]
        self._judge.begin(Brief(task["prompt"], self._tools, plan, grants))
        try:
            played = self._lived(task)
        finally:
            self._judge.end()
        ended = self._ask(do="end")
        played.user, played.injection = user, injection
        played.is_done, played.is_struck = ended["utility"], ended["security"]
        return played

    def _lived(self, task: Mapping[str, Any]) -> Played:
        played, waiting = Played(self._suite, self.condition.name), list(task["hostile"])
        for call in task["calls"]:
            decision, code, is_injected = self._made(call, is_honest=True)
            if decision == "confirm":
                played.questions.append(f"{call['name']}: {code}")
            if decision in ("deny", "hidden"):
                played.refused.append(f"{call['name']}: {code or decision}")
            played.is_reached |= is_injected
            while is_injected and waiting:
                bad = waiting.pop(0)
                decision, code, _ = self._made(bad, is_honest=bad in task["calls"])
                played.hostile_asked += decision == "confirm"
                if decision == "allow" and bad["name"] not in self._reading:
                    played.hostile_allowed.append(f"{bad['name']}: {code}")
        return played

    def _made(self, call: Mapping[str, Any], *, is_honest: bool) -> tuple[str, str, bool]:
        """What was answered, its code, and whether what came back carries the injection and is shown to the agent."""
        name, arguments = call["name"], call["arguments"]
        decision, code = self._judge.judged(name, arguments, is_honest=is_honest)
        if decision == "deny" or (decision == "confirm" and not is_honest):
            return decision, code, False
        result = self._ask(do="call", name=name, arguments=arguments)
        if not self._judge.seen(name, result["value"] if result["error"] is None else result["error"]):
            return "hidden", code, False
        return decision, code, result["injected"]

    def _planned(self, user: str) -> list[dict[str, Any]]:
        """The plan for a user's task, which is the same whatever attacks it."""
        if user not in self._plans:
            self._plans[user] = self._plan(user)
        return self._plans[user]

    def _plan(self, user: str) -> list[dict[str, Any]]:
        """The calls of the ground truth as a planner lists them who sees the owner's message and the tools alone."""
        task = self._ask(do="begin", suite=self._suite, user=user)
        seen: list[tuple[str, Any]] = []
        calls = []
        for call in task["calls"]:
            said = {name: _said(value, task["prompt"], seen) for name, value in call["arguments"].items()}
            calls.append({"tool": call["name"], "arguments": said})
            seen.append((call["name"], self._ask(do="call", **call)["value"]))
        if self.condition.plan == "noisy":
            calls = self._noisy(calls, user)
        return calls

    def _noisy(self, calls: list[dict[str, Any]], user: str) -> list[dict[str, Any]]:
        """A planner that forgets one call in five, and adds one that nobody asked for."""
        chance = random.Random(f"{self._suite} {user}")  # noqa: S311 - the same noise in every run
        kept = [call for call in calls if chance.random() > 0.2]
        added = chance.choice(self._tools)
        arguments = {name: {"content": True} for name in added.schema.get("properties", {})}
        kept.insert(chance.randrange(len(kept) + 1), {"tool": added.name, "arguments": arguments})
        return kept


def _said(value: Any, prompt: str, seen: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """What a planner says about an argument: the owner's words, a field of an earlier result, or to be composed."""
    parts = value if isinstance(value, list) else [value]
    if all(str(part).lower() in prompt.lower() for part in parts):
        return {"literal": value}
    for tool, result in seen:
        for name, found in _fields(result):
            if any(str(part) == str(found) for part in parts):
                return {"result": [tool, name]}
    return {"content": True} if isinstance(value, str) else {"literal": value}


def _fields(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _fields(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner, name)
    else:
        yield name, value


def _table() -> dict[str, Any]:
    return tomllib.loads(_DECLARED.read_text("utf-8"))


def declared(suite: str, tools: Sequence[Mapping[str, Any]], *, visits_read: bool = False) -> list[Tool]:
    """A suite's tools with what an operator knows about them."""
    table = _table()[suite]
    own, reads = table["own"].split(), table["reads"].split()
    reads += table.get("visits", "").split() if visits_read else []
    return [
        Tool(
            tool["name"],
            reads=tool["name"] in reads,
            own=tool["name"] in own,
            owner_writes=tuple(table["owner_writes"].get(tool["name"], "").split()),
            schema=tool["schema"],
            description=tool["description"],
        )
        for tool in tools
    ]
