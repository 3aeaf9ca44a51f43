"""Which steps a quick and a full run consist of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from truekeep.errors import InvalidRequest
from truekeep.redteam import steps as do
from truekeep.redteam.defences.registry import defences
from truekeep.redteam.retrieval.encoders import ENCODERS, MINILM, NONE
from truekeep.redteam.retrieval.plan import FULL, FURTHER, PEER, QUICK, Plan
from truekeep.redteam.row import US
from truekeep.redteam.running import Step

_SHARE = 30
"""A quick run plays every so many-th attack of the battery."""
_SIZES = (60, 500, 2_000, 10_000)
_LARGEST = 100_000
_PEER_SIZES = (60, 500, 2_000, 10_000)
_DOCUMENTS = 949
"""Of AgentDojo's 6,643 injected documents; all of them would take an hour of CPU."""
_SEARCHING, _SEARCHING_PEER = 120.0, 20.0
"""Seconds of CPU for one search."""
_WEAK = ("no gate", "label trust", "wording trust", "three sources", "accepts nothing")
"""Those on which a quick run proves the searching attacker."""


def steps(profile: str, only: str | None = None) -> list[Step]:
    """The steps of a run, or those with these words in their name."""
    listed = list(_quick() if profile == "quick" else _full())
    found = [step for step in listed if only is None or only.casefold() in step.name.casefold()]
    if not found:
        raise InvalidRequest("No step has that name.", hint=f"There are: {'; '.join(step.name for step in listed)}.")
    return found


def _quick() -> Iterator[Step]:
    yield Step("screens", do.detection)
    yield Step("battery: 60", partial(do.battery, size=60, share=_SHARE, embedder=NONE))
    for defence in (US, do.PLAIN):
        yield _attacked(defence, do.OWN, 60, QUICK)
    yield Step("utility: 60", partial(do.utility, defence=US, encoder=do.OWN, sizes=(60,), questions=30))
    yield Step("utility: cold start", partial(do.cold_start, defence=US, encoder=do.OWN))
    yield Step("utility: review", partial(do.review, encoder=NONE, size=60))
    yield Step("agent: 60", partial(do.agent, sizes=(60,), seeds=(0,), every=10))
    yield Step("yardstick: documents", partial(do.documents, fetched=False, limit=6))
    yield Step("search: weak defences", partial(do.search_weak, seconds=1.0, names=_WEAK))
    yield Step("search: truekeep, 60", partial(do.search, size=60, policy="inform", seconds=2.0, embedder=NONE))


def _full() -> Iterator[Step]:
    yield Step("yardstick: published figures", partial(do.published, sizes=_SIZES))
    yield Step("yardstick: documents", partial(do.documents, fetched=True, limit=_DOCUMENTS))
    yield Step("yardstick: agmi", do.agmi)
    yield Step("screens", do.detection)
    yield from _retrieval()
    yield from _utility()
    yield from _peers()
    yield from _search()
    for size in (60, 500):
        yield Step(f"agent: {size}", partial(do.agent, sizes=(size,), seeds=(0, 1, 2)))
    for size in _SIZES:
        yield Step(f"battery: {size:,}", partial(do.battery, size=size))


def _retrieval() -> Iterator[Step]:
    for encoder in ENCODERS:
        for size in _SIZES:
            for defence in (US, do.PLAIN):
                yield _attacked(defence, encoder, size, FULL if encoder == MINILM else FURTHER)
    for encoder in (NONE, MINILM):  # the others would embed for hours
        for defence in (do.PLAIN, US):
            yield _attacked(defence, encoder, _LARGEST, PEER)


def _attacked(defence: str, encoder: str, size: int, plan: Plan) -> Step:
    measured = partial(do.retrieval, defence=defence, encoder=encoder, size=size, plan=plan)
    return Step(f"retrieval: {defence}, {encoder}, {size:,}", measured)


def _utility() -> Iterator[Step]:
    for encoder in ENCODERS:
        for size in _SIZES:
            measured = partial(do.utility, defence=US, encoder=encoder, sizes=(size,), questions=200)
            yield Step(f"utility: {US}, {encoder}, {size:,}", measured)
        yield Step(f"utility: cold start, {encoder}", partial(do.cold_start, defence=US, encoder=encoder))
    yield _uncorroborated(US, "utility")
    yield Step("utility: review", partial(do.review, encoder=MINILM, size=500))


def _uncorroborated(defence: str, kind: str) -> Step:
    measured = partial(do.uncorroborated, defence=defence, encoder=MINILM, size=500)
    return Step(f"{kind}: {defence}, uncorroborated", measured)


def _others() -> list[str]:
    """Other people's defences; a worker of our own is there to test the harness."""
    return [name for name, defence in defences().items() if defence.packages]


def _search() -> Iterator[Step]:
    yield Step("search: weak defences", partial(do.search_weak, seconds=30.0))
    for policy in ("inform", "strict"):
        for size in (60, 500):
            searched = partial(do.search, size=size, policy=policy, seconds=_SEARCHING)
            yield Step(f"search: {US}, {policy}, {size}", searched)
    for name in (do.PLAIN, *_others()):
        searched = partial(do.search_peer, defence=name, encoder=MINILM, size=60, seconds=_SEARCHING_PEER)
        yield Step(f"search: {name}", searched)


def _peers() -> Iterator[Step]:
    for name in _others():
        for size in _PEER_SIZES:
            yield Step(
                f"defence: {name}, {size:,}",
                partial(do.retrieval, defence=name, encoder=MINILM, size=size, plan=PEER),
            )
        yield Step(
            f"defence: {name}, utility",
            partial(do.utility, defence=name, encoder=MINILM, sizes=(500,), questions=200),
        )
        yield Step(f"defence: {name}, cold start", partial(do.cold_start, defence=name, encoder=MINILM))
        yield _uncorroborated(name, "defence")
