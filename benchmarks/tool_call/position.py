"""Defences in one run on the same calls: attacks carried out against questions asked, one plot a set.

python -m benchmarks position [SET …]

The sets are AgentDojo's suites, CodeIPI and AgentThreatBench. Every defence answers the same calls of the same scripted
agent, and its owner says yes to the honest ones alone. What was played is kept, so a run that was stopped goes on; one
of all sets writes ``docs/benchmarks/tool-call.md`` and its plots.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import agentdojo
from benchmarks.agentdojo import Condition, Played
from benchmarks.grounds import agent_threat_bench, codeipi
from benchmarks.grounds.fetched import Ground
from benchmarks.harness import Figure, fingerprint
from benchmarks.redteam.plots import points
from benchmarks.tool_call.judges import AskOnceRead, Boundary, Judge, Nothing
from benchmarks.tool_call.peers import peers
from benchmarks.tool_call.scenes import Scene, live
from truekeep.redteam.figures import US, CannotRun, ResultRow

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks"
_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"
_GROUNDS: Mapping[str, tuple[Ground, Callable[..., list[Scene]]]] = {
    "CodeIPI": (codeipi.GROUND, codeipi.scenes),
    "AgentThreatBench": (agent_threat_bench.GROUND, agent_threat_bench.scenes),
}
GROUNDS = (*(f"AgentDojo {suite}" for suite in ("slack", "banking", "travel", "workspace")), *_GROUNDS)


@dataclass(frozen=True)
class Position:
    """Where a defence stands on a set."""

    ground: str
    defence: str
    struck: int
    attacks: int
    questions: int
    done: int
    tasks: int

    @property
    def place(self) -> tuple[float, float]:
        """Across: questions for each honest task, one and more at the edge. Up: the share of attacks carried out."""
        return min(1.0, self.questions / max(self.tasks, 1)), self.struck / max(self.attacks, 1)


def measure(*names: str) -> list[Figure]:
    """The figures of every defence on the sets that are named, or on all."""
    judges, left_out = _judges()
    found = [one for ground in GROUNDS if not names or ground in names for one in _on(ground, judges)]
    if not names:
        _write(found, left_out)
    return [
        figure
        for one in found
        for figure in (
            Figure(
                f"{one.ground}, {one.defence}: attacks carried out ({one.struck} of {one.attacks})",
                100 * one.struck / max(one.attacks, 1),
                "%",
                0 if one.defence == US else None,
            ),
            Figure(f"{one.ground}, {one.defence}: questions a task", one.questions / max(one.tasks, 1), ""),
        )
    ]


def rows(name: str) -> Iterator[ResultRow]:
    """One set for the red team's report; raises ``CannotRun``."""
    if name in _GROUNDS:
        _GROUNDS[name][0].opened({}, agentdojo.CACHE)
    for one in _on(name, _judges()[0]):
        yield ResultRow(
            part="tool call",
            metric="executed",
            hits=one.struck,
            total=one.attacks,
            defence=one.defence,
            attack=one.ground,
            detail={"questions": one.questions, "tasks": one.tasks, "done": one.done},
        )


def _judges() -> tuple[dict[str, Callable[[], Judge]], dict[str, str]]:
    """Every defence that can be had, and why the others cannot."""
    made: dict[str, Callable[[], Judge]] = {
        "no defence": Nothing,
        "ask once anything was read": AskOnceRead,
        US: Boundary,
    }
    left_out = {}
    for peer in peers():
        try:
            peer.opened(agentdojo.CACHE).close()
        except CannotRun as reason:
            left_out[peer.name] = str(reason)
        else:
            made[peer.name] = lambda peer=peer: peer.opened(agentdojo.CACHE)  # type: ignore[misc]
    return made, left_out


def _on(ground: str, judges: Mapping[str, Callable[[], Judge]]) -> Iterator[Position]:
    if ground in _GROUNDS:
        yield from _on_scenes(ground, judges)
        return
    conditions = [Condition(name, judge=judge) for name, judge in judges.items()]
    played = list(agentdojo.played([ground.partition(" ")[2]], conditions))
    for name in judges:
        yield counted(ground, name, [one for one in played if one.condition == name])


def counted(ground: str, defence: str, played: Sequence[Played]) -> Position:
    """AgentDojo's own checks say what was carried out; questions are counted where nothing was wrong."""
    alone, attacked = ([one for one in played if bool(one.injection) is way] for way in (False, True))
    return Position(
        ground,
        defence,
        sum(one.is_struck for one in attacked),
        len(attacked),
        sum(len(one.questions) for one in alone),
        sum(one.is_done and not one.refused for one in alone),
        len(alone),
    )


def _on_scenes(ground: str, judges: Mapping[str, Callable[[], Judge]]) -> Iterator[Position]:
    kept = agentdojo.CACHE / "positions" / f"{ground}-{fingerprint(Path(__file__).parent)}.json"
    known = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
    source, made = _GROUNDS[ground]
    try:
        scenes = made(source.opened({}, agentdojo.CACHE))
    except CannotRun:
        return
    for name, opened in judges.items():
        if name not in known:
            with suppress(CannotRun):
                known[name] = asdict(_played(ground, name, scenes, opened()))
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(known), encoding="utf-8")
        if name in known:
            yield Position(**known[name])


def _played(ground: str, name: str, scenes: Sequence[Scene], judge: Judge) -> Position:
    try:
        lived = [live(scene, judge) for scene in scenes]
    finally:
        judge.close()
    attacked = [one for one in lived if one.is_attacked]
    questions = sum(len(one.questions) for one in lived)
    struck = sum(one.is_struck for one in attacked)
    return Position(ground, name, struck, len(attacked), questions, sum(one.is_done for one in lived), len(lived))


def _write(found: Sequence[Position], left_out: Mapping[str, str]) -> None:
    page = DOCS / "tool-call.md"
    before, _, rest = page.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    blocks = []
    for ground in dict.fromkeys(one.ground for one in found):
        here = [one for one in found if one.ground == ground]
        name = f"tool-call-{ground.lower().replace(' ', '-')}.svg"
        places = {one.defence: one.place for one in here}
        (DOCS / name).write_text(points(ground, places, "questions a task", "attacks carried out"), encoding="utf-8")
        blocks.append(
            "\n".join((f"![{ground}: attacks carried out against questions asked.]({name})", "", *_table(here)))
        )
    blocks += [f"{name} was left out: {reason}" for name, reason in left_out.items()]
    page.write_text(f"{before}{_BEGIN}\n\n" + "\n\n".join(blocks) + f"\n\n{_END}{after}", "utf-8")


def _table(here: Sequence[Position]) -> Iterator[str]:
    yield f"| {here[0].ground} | attacks carried out | questions a task | tasks done |"
    yield "|---|---|---|---|"
    for one in here:
        asked = f"{one.questions / max(one.tasks, 1):.2f}"
        yield f"| {one.defence} | {one.struck} of {one.attacks} | {asked} | {one.done} of {one.tasks} |"
