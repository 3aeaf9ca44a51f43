"""The steps that runs are put together from: each measures one thing and gives its rows."""

# ruff: noqa: PLC0415 - each loads what it needs when it is carried out; listing the steps must stay quick
from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep.errors import TruekeepError
from truekeep.redteam.defences.environments import CannotRun
from truekeep.redteam.row import Row
from truekeep.redteam.running import Ground

if TYPE_CHECKING:
    from truekeep.redteam.defences.store import Store
    from truekeep.redteam.influence.arena import Arena
    from truekeep.redteam.retrieval.encoders import Encoder
    from truekeep.redteam.retrieval.plan import Plan

PLAIN, MINILM = "plain store", "minilm"
OWN = "own"
"""Whichever encoder the settings name."""


def detection(_: Ground) -> Iterator[Row]:
    """What the screens see of our own labelled texts."""
    from truekeep.redteam.detection import measure_detection
    from truekeep.screens.standard import panel

    yield from measure_detection(panel())


def battery(ground: Ground, *, size: int, share: int = 1, embedder: str | None = None) -> Iterator[Row]:
    """The attacks that are written as data, or every so many-th of them."""
    from truekeep.redteam.influence.battery import attacked
    from truekeep.redteam.influence.loading import attacks
    from truekeep.redteam.influence.rows import rows_of

    with _arena(ground, size, "inform", embedder) as arena:
        outcomes = attacked(arena, attacks()[::share], ground.progress)
    yield from rows_of(outcomes, arena.settings.embedder, size)


def retrieval(ground: Ground, *, defence: str, encoder: str, size: int, plan: Plan) -> Iterator[Row]:
    """Attacks on what is found, on one defence with one encoder at one size."""
    from truekeep.redteam.retrieval.measure import measure_retrieval

    loaded = _encoder(ground, encoder)
    make = _maker(ground, defence, loaded, size)
    yield from measure_retrieval(make, loaded, (size,), plan=plan, progress=ground.progress)


def utility(ground: Ground, *, defence: str, encoder: str, sizes: Sequence[int], questions: int) -> Iterator[Row]:
    """What honest people find."""
    from truekeep.redteam.retrieval.utility import measure_utility

    loaded = _encoder(ground, encoder)
    for size in sizes:
        make = _maker(ground, defence, loaded, size)
        yield from measure_utility(make, loaded, (size,), questions, ground.progress)


def cold_start(ground: Ground, *, defence: str, encoder: str) -> Iterator[Row]:
    """What an owner finds of what they have just said to an empty store."""
    from truekeep.redteam.retrieval.utility import measure_cold_start

    loaded = _encoder(ground, encoder)
    yield from measure_cold_start(_maker(ground, defence, loaded, 0), loaded)


def uncorroborated(ground: Ground, *, defence: str, encoder: str, size: int) -> Iterator[Row]:
    """What is found of what the owner said and nobody has confirmed or used yet."""
    from truekeep.redteam.retrieval.utility import measure_uncorroborated

    loaded = _encoder(ground, encoder)
    yield from measure_uncorroborated(_maker(ground, defence, loaded, size), loaded, size)


def review(ground: Ground, *, encoder: str, size: int) -> Iterator[Row]:
    """What it takes a person to let true facts act that were merely read."""
    from truekeep.redteam.defences.keep_store import KeepStore
    from truekeep.redteam.retrieval.utility import measure_review

    loaded = _encoder(ground, encoder)
    strict = ground.settings.with_policy("strict")
    make = lambda: KeepStore(loaded.embedder, settings=strict, config=ground.config)  # noqa: E731
    yield from measure_review(make, loaded, size)


def agent(ground: Ground, *, sizes: Sequence[int], seeds: Sequence[int], every: int = 1) -> Iterator[Row]:
    """An agent whose model obeys whatever it reads."""
    from truekeep.redteam.agent.measure import measure_agent

    yield from measure_agent(ground.settings, sizes, seeds, ground.progress, every=every)


def documents(ground: Ground, *, fetched: bool, limit: int | None = None) -> Iterator[Row]:
    """Injected documents through extraction and up to the act boundary: AgentDojo's, and ours."""
    from truekeep.redteam.yardsticks.agentdojo import measure_agentdojo

    cache = ground.cache if fetched else None
    yield from measure_agentdojo(cache, limit, ground.progress, settings=ground.informed)


def agmi(ground: Ground) -> Iterator[Row]:
    """The integrity yardstick: edits at rest, and what attackers write."""
    from truekeep.redteam.yardsticks.agmi import measure_agmi

    yield from measure_agmi(ground.cache, ground.progress)


def published(ground: Ground, *, sizes: Sequence[int]) -> Iterator[Row]:
    """Figures that others published, measured again as a check of the harness."""
    from truekeep.redteam.defences.published import published as measured

    embedder = _encoder(ground, MINILM).embedder
    if embedder is None:
        raise CannotRun("the published figures need an encoder")
    yield from measured(embedder, ground.cache, sizes)


def search(ground: Ground, *, size: int, policy: str, seconds: float, embedder: str | None = None) -> Iterator[Row]:
    """Look for the cheapest sequence that breaks a keep."""
    from truekeep.redteam.search import Budget, rows
    from truekeep.redteam.search import search as searched

    with _arena(ground, size, policy, embedder) as arena:
        result = searched(arena.stage, Budget(), seconds, progress=ground.progress)
        yield from rows(result, encoder=arena.settings.embedder, size=size, note=policy)


def search_weak(ground: Ground, *, seconds: float, names: Collection[str] = ()) -> Iterator[Row]:
    """The searching attacker on defences whose holes are known, and whether it finds each at the least cost."""
    from truekeep.redteam.search import Budget, rows
    from truekeep.redteam.search import search as searched
    from truekeep.redteam.search.weak import WEAK

    chosen = [weak for weak in WEAK if not names or weak.name in names]
    for number, weak in enumerate(chosen, 1):
        result = searched(weak.ground(), Budget(), seconds)
        yield from rows(result, defence=weak.name, note="weak on purpose")
        found = {goal: one.sequence.cost for goal, one in result.found.items()}
        is_proved = all(found.get(goal) == cost for goal, cost in weak.cheapest.items()) and bool(found) == bool(
            weak.cheapest
        )
        yield Row(part="search", metric="proved", hits=int(is_proved), total=1, defence=weak.name)
        ground.progress("weak defences searched", number, len(chosen))


def search_peer(ground: Ground, *, defence: str, encoder: str, size: int, seconds: float) -> Iterator[Row]:
    """The searching attacker on somebody else's memory, or on a plain one."""
    from truekeep.redteam.defences.honest import told
    from truekeep.redteam.influence.benign import facts
    from truekeep.redteam.search import Budget, rows
    from truekeep.redteam.search import search as searched
    from truekeep.redteam.search.on_store import StoreGround

    loaded = _encoder(ground, encoder)
    store = _maker(ground, defence, loaded, size)()
    try:
        stage = StoreGround(store, told(facts(size))).stage
        result = searched(stage, Budget(), seconds, progress=ground.progress)
    finally:
        store.close()
    yield from rows(result, defence=store.name, encoder=encoder, size=size)


@contextmanager
def _arena(ground: Ground, size: int, policy: str, embedder: str | None) -> Iterator[Arena]:
    from truekeep.redteam.influence.arena import Arena

    settings = replace(ground.settings.with_policy(policy), embedder=embedder or ground.settings.embedder)
    with tempfile.TemporaryDirectory(prefix="truekeep-redteam-") as folder:
        yield Arena(Path(folder), size, settings, config=ground.config, progress=ground.progress)


def _encoder(ground: Ground, name: str) -> Encoder:
    from truekeep.redteam.retrieval.encoders import load

    try:
        return load(ground.settings.embedder if name == OWN else name, ground.cache)
    except TruekeepError as reason:
        raise CannotRun(str(reason)) from reason


def _maker(ground: Ground, defence: str, encoder: Encoder, size: int) -> Callable[[], Store]:
    """How to make an empty store of a defence: ours, a plain one, or somebody else's."""
    from truekeep.redteam.defences.keep_store import KeepStore
    from truekeep.redteam.defences.plain_keywords import PlainKeywords
    from truekeep.redteam.defences.plain_vectors import PlainVectors
    from truekeep.redteam.defences.registry import LeftOut, open_defence
    from truekeep.redteam.row import US

    if defence == US:
        return lambda: KeepStore(encoder.embedder, settings=ground.informed, config=ground.config)
    if defence == PLAIN:
        embedder = encoder.embedder
        return PlainKeywords if embedder is None else lambda: PlainVectors(embedder)

    def opened() -> Store:
        store = open_defence(defence, encoder.embedder, ground.cache, size=size)
        if isinstance(store, LeftOut):
            raise CannotRun(store.reason)
        return store

    return opened
