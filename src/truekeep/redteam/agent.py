"""Measure an agent end to end: the same life with a plain memory, with the gate, the boundary, and as configured."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep.config import Settings
from truekeep.redteam.agent.endpoint import Line, obedient
from truekeep.redteam.agent.host import Host
from truekeep.redteam.agent.journey import live, prepare
from truekeep.redteam.agent.kept import MEMBERS, Guarding, KeepHost
from truekeep.redteam.agent.plain import PlainHost
from truekeep.redteam.agent.scenario import Scenario, attacks, honest
from truekeep.redteam.agent.tally import Tally
from truekeep.redteam.defences.environments import CannotRun
from truekeep.redteam.influence.arena import Arena, Progress, silent
from truekeep.redteam.influence.stage import Clock
from truekeep.redteam.influence.vectors import cached
from truekeep.redteam.row import US, Row

if TYPE_CHECKING:
    from truekeep.extract.llm import ChatModel

SIZES, SEEDS = (60, 500), (0, 1, 2)
_K = 8
_CLEAN = "inform"
"""The preset under which hearsay reaches the prompt: the harder case for whatever comes after it."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One way to run the agent; without a guarding it has a memory of another kind altogether."""

    name: str
    guarding: Guarding | None = None
    policy: str = ""
    """The preset; else the one that the settings have."""


CONDITIONS = (
    Condition("plain memory"),
    Condition(f"{US}, recall gate only", Guarding(gate=True), _CLEAN),
    Condition(f"{US}, act boundary only", Guarding(boundary=True), _CLEAN),
    Condition(US, Guarding(boundary=True)),
)


def measure_agent(
    settings: Settings,
    sizes: Sequence[int] = SIZES,
    seeds: Sequence[int] = SEEDS,
    progress: Progress = silent,
    *,
    conditions: Sequence[Condition] = CONDITIONS,
    every: int = 1,
) -> Iterator[Row]:
    """Rows ``executed``, ``questioned`` and ``completed`` for each condition and size; ``every`` third is a quick look.

    In each keep the owner's tasks are done first, then all attacks are planted, then each is tried, and in the end the
    owner's tasks are done once more in a keep that is full of poison.
    """
    with obedient() as line:
        for size in sizes:
            tallies = {one.name: Tally(one.name, settings.embedder, size) for one in conditions}
            for seed in seeds:
                told = _told(progress, f"agent with {size:,} memories, seed {seed}", len(conditions))
                for run in _runs(settings, size, seed, conditions, every):
                    run(line, tallies)
                    told()
            for tally in tallies.values():
                yield from tally.rows()


def _told(progress: Progress, what: str, total: int) -> Callable[[], None]:
    done = iter(range(1, total + 1))
    return lambda: progress(what, next(done), total)


Run = Callable[[Line, "dict[str, Tally]"], None]


def _runs(settings: Settings, size: int, seed: int, conditions: Sequence[Condition], every: int) -> Iterator[Run]:
    """Each condition with a fresh copy of the same honest store."""
    with tempfile.TemporaryDirectory(prefix="truekeep-agent-") as folder:
        arenas: dict[str, Arena] = {}
        for condition in conditions:
            policy = condition.policy or settings.policy
            if policy not in arenas:
                room = Path(folder) / policy
                arenas[policy] = Arena(room, size, settings.with_policy(policy), seed=seed)
            arena = arenas[policy]

            def run(
                line: Line, tallies: dict[str, Tally], arena: Arena = arena, condition: Condition = condition
            ) -> None:
                tally, began = tallies[condition.name], time.process_time()
                for shared in (False, True):
                    with _host(condition, arena, line, shared=shared) as (host, clock):
                        _play(host, clock, line, _Lives.of(seed, every, shared=shared), tally)
                tally.seconds += time.process_time() - began

            yield run


@dataclass(frozen=True, slots=True)
class _Lives:
    """What is played in one keep."""

    honest: list[Scenario]
    attacks: list[Scenario]

    @classmethod
    def of(cls, seed: int, every: int, *, shared: bool) -> _Lives:
        return cls(
            [one for one in honest(seed)[::every] if one.is_shared is shared],
            [one for one in attacks(seed)[::every] if one.is_shared is shared],
        )


def _play(host: Host, clock: Clock, line: Line, lives: _Lives, tally: Tally) -> None:
    for place, one in enumerate(lives.honest):
        prepare(host, line, one, f"honest-{place}")
    clock.wait(days=1)
    tally.before += [live(host, line, one, f"before-{place}") for place, one in enumerate(lives.honest)]
    host.came.clear()
    for place, one in enumerate(lives.attacks):
        prepare(host, line, one, f"attack-{place}")
    tally.came.update(host.came)
    clock.wait(days=2)
    tally.attacked += [live(host, line, one, f"attacked-{place}") for place, one in enumerate(lives.attacks)]
    tally.after += [live(host, line, one, f"after-{place}") for place, one in enumerate(lives.honest)]


@contextmanager
def _host(condition: Condition, arena: Arena, line: Line, *, shared: bool) -> Iterator[tuple[Host, Clock]]:
    if condition.guarding is None:
        texts = [text for fact in arena.facts for _, text in fact.said]
        yield PlainHost(cached(arena.settings.embedder), texts, _K), Clock()
        return
    with arena.copied() as (keep, clock):
        for member in MEMBERS if shared else ():
            keep.channels.enrol(f"member:{member}", by="operator", reason="one of us")
        yield KeepHost(keep, condition.guarding, _K, obedient_model(line)), clock


def obedient_model(line: Line) -> ChatModel:
    """The client that extraction uses, on the obedient endpoint; raises ``CannotRun`` without the extra it needs."""
    if find_spec("httpx") is None:
        raise CannotRun("extraction by a model needs: pip install 'truekeep[llm]'")
    from truekeep.extract.endpoint import ModelSettings  # noqa: PLC0415 - only with the extra
    from truekeep.extract.llm import ChatModel  # noqa: PLC0415

    return ChatModel(replace(ModelSettings(line.endpoint.url, "obedient"), attempts=1))
