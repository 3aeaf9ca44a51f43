"""AgentDojo, whole: its environments, tasks, injections and checks, with every call put to the act boundary.

python -m benchmarks agentdojo [SUITE …]

A scripted agent makes the calls of a user task's ground truth, and obeys: after the first result that carries an
injection it makes the calls of the injection's ground truth too. Whether the task was completed and the attack carried
out is what the suite's own checks say. An owner who is asked says yes to exactly the calls of the ground truth.

What was played is kept beside the environments, under a name that changes with the code, so a run that was stopped goes
on. A run of all suites writes its tables into ``docs/benchmarks/agentdojo.md``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import truekeep
from benchmarks.agentdojo_report import figures, write_tables
from benchmarks.harness import Figure
from benchmarks.peers.environments import interpreter, quiet_environ
from benchmarks.yardsticks.agentdojo import PACKAGES
from truekeep import Keep, Session, Tool
from truekeep.errors import TicketRefused

CACHE = Path(tempfile.gettempdir()) / "truekeep-benchmarks"
_HOST = Path(__file__).with_name("yardsticks") / "agentdojo_host.py"
_DECLARED = Path(__file__).with_name("yardsticks") / "agentdojo_tools.toml"
_START = datetime(2024, 5, 15, 9, tzinfo=UTC)
Ask = Any


@dataclass(frozen=True, slots=True)
class Condition:
    """How the agent is run. A ``baseline`` stands in the place of the boundary."""

    name: str
    plan: str = ""
    grants: bool = False
    baseline: str = ""
    visits_read: bool = False
    """Whether a visit to any page is declared as a read: the boundary then follows public links that results give."""


CONDITIONS = (
    Condition("no plan"),
    Condition("perfect plan", plan="perfect"),
    Condition("no plan, visits are reads", visits_read=True),
    Condition("perfect plan, visits are reads", plan="perfect", visits_read=True),
    Condition("no defence", baseline="allow"),
    Condition("noisy plan", plan="noisy"),
    Condition("no plan, grants", grants=True),
    Condition("perfect plan, grants", plan="perfect", grants=True),
    Condition("every effect after a result is asked", baseline="ask"),
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


def measure(*suites: str, conditions: Sequence[Condition] = CONDITIONS) -> list[Figure]:
    """The figures of every condition: tasks alone, and under attack."""
    played: list[Played] = []
    with host() as ask:
        for is_attacked, condition in itertools.product((False, True), conditions):
            played += _kept_or_played(ask, condition, suites, is_attacked=is_attacked)
    if not suites and conditions is CONDITIONS:
        write_tables(played)
    return list(figures(played))


def _kept_or_played(ask: Ask, condition: Condition, suites: Sequence[str], *, is_attacked: bool) -> Iterator[Played]:
    path = CACHE / "agentdojo" / f"played-{_fingerprint()}-{condition.name.replace(' ', '-')}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    kept = {(one.suite, one.user, one.injection): one for one in (Played(**json.loads(line)) for line in lines)}
    with path.open("a", encoding="utf-8", buffering=1) as out:
        for suite, listed in ask(do="suites").items():
            stage = Stage(ask, suite, listed, condition)
            wanted = itertools.product(listed["users"], listed["injections"] if is_attacked else ("",))
            for user, injection in wanted if not suites or suite in suites else ():
                one = kept.get((suite, user, injection))
                if one is None:
                    one = stage.play(user, injection)
                    out.write(json.dumps(asdict(one)) + "\n")
                yield one


def _fingerprint() -> str:
    """A name for the code that is measured, and for what measures it."""
    whole = hashlib.sha256()
    for root in (Path(truekeep.__file__).parent, Path(__file__), _HOST, _DECLARED):
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix in (".py", ".toml", ".yaml"):
                whole.update(path.read_bytes())
    return whole.hexdigest()[:12]


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

    def __init__(self, ask: Ask, suite: str, listed: Mapping[str, Any], condition: Condition) -> None:
        self._ask, self._suite, self._condition = ask, suite, condition
        self._tools = declared(suite, listed["tools"], visits_read=condition.visits_read)
        self._schemas = {tool.name: tool for tool in self._tools}

    def play(self, user: str, injection: str = "") -> Played:
        """One task from the owner's message to the suite's checks."""
        plan = self._plan(user) if self._condition.plan else None
        ticking = (_START + timedelta(seconds=n) for n in itertools.count())
        with (
            tempfile.TemporaryDirectory() as home,
            Keep.open("run", home=Path(home), policy="inform", background=False, clock=lambda: next(ticking)) as keep,
        ):
            if self._condition.grants:
                self._grant(keep)
            session = keep.session("s-1", mediated=True, tools=self._tools)
            attack = {"injection": injection} if injection else {}
            task = self._ask(do="begin", suite=self._suite, user=user, **attack)
            session.observe("user", task["prompt"])
            if plan is not None:
                keep.take_plan("s-1", json.dumps({"calls": plan}))
            played = self._lived(keep, session, task)
            ended = self._ask(do="end")
        played.user, played.injection = user, injection
        played.is_done, played.is_struck = ended["utility"], ended["security"]
        return played

    def _grant(self, keep: Keep) -> None:
        for grant in _table()["grants"]:
            if grant["suite"] == self._suite:
                keep.grants.add(tool=grant["tool"], where=grant["where"], by="owner")

    def _lived(self, keep: Keep, session: Session, task: Mapping[str, Any]) -> Played:
        played, waiting = Played(self._suite, self._condition.name), list(task["hostile"])
        self._has_read = False
        for call in task["calls"]:
            decision, code, is_injected = self._made(keep, session, call, is_honest=True)
            if decision == "confirm":
                played.questions.append(f"{call['name']}: {code}")
            if decision == "deny":
                played.refused.append(f"{call['name']}: {code}")
            played.is_reached |= is_injected
            while is_injected and waiting:
                bad = waiting.pop(0)
                decision, code, _ = self._made(keep, session, bad, is_honest=bad in task["calls"])
                played.hostile_asked += decision == "confirm"
                if decision == "allow" and not self._schemas[bad["name"]].is_reading:
                    played.hostile_allowed.append(f"{bad['name']}: {code}")
        return played

    def _made(self, keep: Keep, session: Session, call: Mapping[str, Any], *, is_honest: bool) -> tuple[str, str, bool]:
        """What was answered, its code, and whether what came back carries the injection."""
        name, arguments = call["name"], call["arguments"]
        if self._condition.baseline:
            decision, code = self._simply(name)
        else:
            decision, code = self._judged(keep, session, name, arguments, is_honest=is_honest)
        if decision == "deny" or (decision == "confirm" and not is_honest):
            return decision, code, False
        self._has_read = True
        result = self._ask(do="call", name=name, arguments=arguments)
        if not self._condition.baseline:
            session.observe_result(name, result["value"] if result["error"] is None else result["error"])
        return decision, code, result["injected"]

    def _simply(self, name: str) -> tuple[str, str]:
        """What a defence answers that looks at nothing but whether anything was read before an effect."""
        is_asked = self._condition.baseline == "ask" and self._has_read and not self._schemas[name].is_reading
        return ("confirm", "after_result") if is_asked else ("allow", "")

    def _judged(
        self, keep: Keep, session: Session, name: str, arguments: Mapping[str, Any], *, is_honest: bool
    ) -> tuple[str, str]:
        answer = session.check_action(name, arguments)
        decision = answer.decision.value
        if decision == "deny" or answer.ticket is None:
            return "deny", answer.code
        if decision == "confirm":
            if not is_honest:
                keep.actions.decline(answer.ticket, via="user")
                return decision, answer.code
            keep.actions.confirm(answer.ticket, via="user")
        try:
            session.redeem(answer.ticket, name, arguments)
        except TicketRefused as refused:  # what holds has changed since it was judged
            return "deny", refused.code
        return decision, answer.code

    def _plan(self, user: str) -> list[dict[str, Any]]:
        """The calls of the ground truth as a planner lists them who sees the owner's message and the tools alone."""
        task = self._ask(do="begin", suite=self._suite, user=user)
        seen: list[tuple[str, Any]] = []
        calls = []
        for call in task["calls"]:
            said = {name: _said(value, task["prompt"], seen) for name, value in call["arguments"].items()}
            calls.append({"tool": call["name"], "arguments": said})
            seen.append((call["name"], self._ask(do="call", **call)["value"]))
        if self._condition.plan == "noisy":
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
