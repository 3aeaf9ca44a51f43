"""The measurements of the published report: those of a full run on every encoder, other defences, and yardsticks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.agentdojo import played
from benchmarks.agentdojo_report import rows_of
from benchmarks.encoders.loading import ENCODERS, MINILM, load
from benchmarks.grounds.runner import SETS, Measured, kept_or_measured
from benchmarks.peers.registry import defences, opened
from benchmarks.peers.store_target import StoreGround
from benchmarks.tool_call import position
from benchmarks.tool_call.position import GROUNDS
from benchmarks.yardsticks.agentdojo import measure_agentdojo
from benchmarks.yardsticks.agmi import measure_agmi
from benchmarks.yardsticks.published import published
from truekeep.errors import TruekeepError
from truekeep.redteam import runs
from truekeep.redteam.battery import SIZES
from truekeep.redteam.encoders import NONE, NamedEmbedder
from truekeep.redteam.figures import CannotRun, ResultRow
from truekeep.redteam.honest import facts, told
from truekeep.redteam.hunt import rows_of_search
from truekeep.redteam.results import Installation, Measurement
from truekeep.redteam.retrieval import FULL, Plan
from truekeep.redteam.runs import Load, Make, Stand

_LARGEST = 100_000
FURTHER = Plan(leading=40, others=10, known=100)
"""For our keep with encoders other than the default: 960 pairs with each of the leading attacks."""
PEER = Plan(leading=10, others=5, known=40)
"""For defences whose every question goes through a process, and for the largest stores: 240 pairs each."""
_DOCUMENTS = 949
"""Of AgentDojo's 6,643 injected documents; all of them would take an hour of CPU."""
_SEARCHING_PEER = 20.0
"""Seconds of CPU for one search."""


def steps(cache: Path) -> list[Measurement]:
    """All of them; what they fetch is kept in ``cache``."""
    return [
        Measurement("yardstick: published figures", partial(_published, cache=cache)),
        Measurement("yardstick: documents", partial(_documents, cache=cache)),
        Measurement("yardstick: agmi", partial(_agmi, cache=cache)),
        *(Measurement(f"ground: {one.ground.name}", partial(_ground, one=one, cache=cache)) for one in SETS),
        Measurement("tool call: AgentDojo, whole", _agentdojo),
        *(Measurement(f"tool call: {name}", partial(_position, name=name)) for name in GROUNDS),
        runs.screens(),
        *_retrieval(cache),
        *_utility(cache),
        *_peers(cache),
        *runs.searched(),
        *_searched(cache),
        *runs.acted(),
    ]


def _retrieval(cache: Path) -> Iterator[Measurement]:
    for name in ENCODERS:
        for size in SIZES:
            for stand in _stands(name, cache):
                yield runs.attacked(stand, size, FULL if name == MINILM else FURTHER)
    for name in (NONE, MINILM):  # the others would embed for hours
        for stand in _stands(name, cache)[::-1]:
            yield runs.attacked(stand, _LARGEST, PEER)


def _utility(cache: Path) -> Iterator[Measurement]:
    for name in ENCODERS:
        yield from runs.useful(_stands(name, cache)[0])
    yield runs.uncorroborated(_stands(MINILM, cache)[0], "utility")
    yield runs.reviewed(_loading(MINILM, cache))


def _peers(cache: Path) -> Iterator[Measurement]:
    for name in defences():
        stand = _peer(name, cache)
        for size in SIZES:
            measured = runs.attacked(stand, size, PEER)
            yield Measurement(f"defence: {name}, {size:,}", measured.taken)
        yield Measurement(f"defence: {name}, utility", runs.asked(stand, 500, 200).taken)
        yield Measurement(f"defence: {name}, cold start", runs.cold_started(stand).taken)
        yield runs.uncorroborated(stand, "defence")


def _searched(cache: Path) -> Iterator[Measurement]:
    for stand in (_stands(MINILM, cache)[1], *(_peer(name, cache) for name in defences())):
        yield Measurement(f"search: {stand.defence}", partial(_search, stand=stand, size=60))


def _stands(name: str, cache: Path) -> tuple[Stand, Stand]:
    """Our keep and a plain store on one encoder."""
    load = _loading(name, cache)
    return runs.ours(name, load), runs.plain(name, load)


def _peer(name: str, cache: Path) -> Stand:
    """Somebody else's memory."""
    load = _loading(MINILM, cache)

    def made(installation: Installation, size: int) -> tuple[Make, NamedEmbedder]:
        loaded = load(installation)
        return lambda: opened(name, loaded.embedder, cache, size=size), loaded

    return Stand(name, MINILM, made)


def _loading(name: str, cache: Path) -> Load:
    def loaded(_: Installation) -> NamedEmbedder:
        try:
            return load(name, cache)
        except TruekeepError as reason:
            raise CannotRun(str(reason)) from reason

    return loaded


def _published(installation: Installation, *, cache: Path) -> Iterator[ResultRow]:
    """Figures that others published, measured again as a check of the harness."""
    embedder = _loading(MINILM, cache)(installation).embedder
    if embedder is None:
        raise CannotRun("the published figures need an encoder")
    yield from published(embedder, cache, SIZES)


def _documents(installation: Installation, *, cache: Path) -> Iterator[ResultRow]:
    """Our own injected documents, and AgentDojo's."""
    yield from runs.documents(_DOCUMENTS).taken(installation)
    settings = installation.settings.with_policy("inform")
    yield from measure_agentdojo(cache, _DOCUMENTS, installation.progress, settings=settings)


def _ground(_: Installation, *, one: Measured, cache: Path) -> Iterator[ResultRow]:
    """Somebody's set of memory attacks, from a package or from where a variable says."""
    yield from kept_or_measured(one, {}, cache)


def _agentdojo(_: Installation) -> Iterator[ResultRow]:
    """AgentDojo by its own checks, under every condition."""
    yield from rows_of(list(played(())))


def _position(_: Installation, *, name: str) -> Iterator[ResultRow]:
    """Defences side by side on one set."""
    yield from position.rows(name)


def _agmi(installation: Installation, *, cache: Path) -> Iterator[ResultRow]:
    """The integrity yardstick: edits at rest, and what attackers write."""
    yield from measure_agmi(cache, installation.progress)


def _search(installation: Installation, *, stand: Stand, size: int) -> Iterator[ResultRow]:
    """The searching attacker on somebody else's memory, or on a plain one."""
    make, loaded = stand.opened(installation, size)
    store = make()
    try:
        stage = StoreGround(store, told(facts(size))).stage
        result = runs.hunted(stage, _SEARCHING_PEER, installation.progress)
    finally:
        store.close()
    yield from rows_of_search(result, defence=store.name, encoder=loaded.name, size=size)
