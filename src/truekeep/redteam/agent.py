"""Measure an agent end to end: the same life with a plain memory, with the gate, the boundary, and as configured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truekeep.config import Settings
from truekeep.redteam.agent_hosts import MEMBERS, Guarding, Host, KeepHost, PlainHost
from truekeep.redteam.agent_scenarios import Scenario, attacks, honest
from truekeep.redteam.agent_sessions import Tally, live, prepare
from truekeep.redteam.encoders import cached
from truekeep.redteam.figures import US, Progress, ResultRow, silent
from truekeep.redteam.obedient_model import Line, obedient, obedient_model
from truekeep.redteam.stage import Clock

if TYPE_CHECKING:
    from truekeep.redteam.keep_store import KeepStore

    Keeps = Callable[[Settings, int, int], KeepStore]
    """An honest keep with these settings, of a size, filled by a seed."""

SEEDS = (0, 1, 2)
_K = 8
_CLEAN = "inform"
"""The preset under which hearsay reaches the prompt: the harder case for whatever comes after it."""


@dataclass(frozen=True, slots=True)
class AgentCondition:
    """One way to run the agent; without a guarding it has a memory of another kind altogether."""

    name: str
    guarding: Guarding | None = None
    policy: str = ""
    """The preset; else the one that the settings have."""


CONDITIONS = (
    AgentCondition("plain memory"),
    AgentCondition(f"{US}, recall gate only", Guarding(gate=True), _CLEAN),
    AgentCondition(f"{US}, act boundary only", Guarding(boundary=True), _CLEAN),
    AgentCondition(US, Guarding(boundary=True)),
)


def measure_agent(
    keeps: Keeps,
    settings: Settings,
    size: int,
    seeds: Sequence[int] = SEEDS,
    progress: Progress = silent,
    *,
    conditions: Sequence[AgentCondition] = CONDITIONS,
    every: int = 1,
) -> Iterator[ResultRow]:
    """Rows ``executed``, ``questioned`` and ``completed`` for each condition; ``every`` third is a quick look.

    In each keep the owner's tasks are done first, then all attacks are planted, then each is tried, and in the end the
    owner's tasks are done once more in a keep that is full of poison.
    """
    tallies = {one.name: Tally(one.name, settings.embedder, size) for one in conditions}
    with obedient() as line:
        for seed in seeds:
            for done, (condition, keep) in enumerate(_prepared(keeps, settings, size, seed, conditions), 1):
                tally, began = tallies[condition.name], time.process_time()
                for shared in (False, True):
                    with _host(condition, keep, line, shared=shared) as (host, clock):
                        _play(host, clock, line, _Lives.of(seed, every, shared=shared), tally)
                tally.seconds += time.process_time() - began
                progress(f"agent with {size:,} memories, seed {seed}", done, len(conditions))
    for tally in tallies.values():
        yield from tally.rows()


def _prepared(
    keeps: Keeps, settings: Settings, size: int, seed: int, conditions: Sequence[AgentCondition]
) -> Iterator[tuple[AgentCondition, KeepStore]]:
    """Each condition with the honest keep that it begins with; those of one policy share it."""
    with ExitStack() as opened:
        made: dict[str, KeepStore] = {}
        for condition in conditions:
            policy = condition.policy or settings.policy
            if policy not in made:
                made[policy] = opened.enter_context(keeps(settings.with_policy(policy), size, seed))
            yield condition, made[policy]


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
def _host(condition: AgentCondition, store: KeepStore, line: Line, *, shared: bool) -> Iterator[tuple[Host, Clock]]:
    if condition.guarding is None:
        texts = [text for fact in store.facts for _, text in fact.said]
        yield PlainHost(cached(store.settings.embedder), texts, _K), Clock()
        return
    with store.copied() as (keep, clock):
        for member in MEMBERS if shared else ():
            keep.channels.enrol(f"member:{member}", by="operator", reason="one of us")
        yield KeepHost(keep, condition.guarding, _K, obedient_model(line)), clock
