"""Which measurements a quick and a full run consist of, and how each is taken on this installation."""

# ruff: noqa: PLC0415 - each loads what it needs when it is taken; listing them must stay quick
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from truekeep.config import Settings
from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.redteam.battery import SIZES
from truekeep.redteam.encoders import NONE, NamedEmbedder, encoder
from truekeep.redteam.figures import US, CannotRun, Progress, ResultRow, silent
from truekeep.redteam.results import Installation, Measurement
from truekeep.redteam.retrieval import FULL, QUICK, Plan

if TYPE_CHECKING:
    from truekeep.redteam.hunt import Fresh, SearchResult
    from truekeep.redteam.keep_store import KeepStore
    from truekeep.redteam.store import Store

PLAIN, OWN = "plain store", "own"
SHARE = 30
"""A quick run plays every so many-th attack of the battery."""
SEARCHING = 120.0
"""Seconds of CPU for one search of a full run."""
_WEAK = ("no gate", "label trust", "wording trust", "three sources", "accepts nothing")
"""Those on which a quick run proves the searching attacker."""

Load = Callable[[Installation], NamedEmbedder]
Make = Callable[[], "Store"]


def steps(profile: str) -> list[Measurement]:
    """The measurements of a run."""
    return list(quick() if profile == "quick" else full())


def chosen(listed: Sequence[Measurement], words: str | None) -> list[Measurement]:
    """Those with these words in their name, or all."""
    found = [step for step in listed if words is None or words.casefold() in step.name.casefold()]
    if not found:
        raise InvalidRequest("No step has that name.", hint=f"There are: {'; '.join(step.name for step in listed)}.")
    return found


def quick() -> Iterator[Measurement]:
    """Everything in small."""
    yield screens()
    yield Measurement("battery: 60", partial(_battery, size=60, share=SHARE, embedder=NONE))
    yield attacked(ours(), 60, QUICK)
    yield attacked(plain(), 60, QUICK)
    yield Measurement("utility: 60", asked(ours(), 60, 30).taken)
    yield Measurement("utility: cold start", cold_started(ours()).taken)
    yield Measurement("utility: review", partial(_review, load=lambda _: encoder(NONE), size=60))
    yield Measurement("agent: 60", partial(_agent, size=60, seeds=(0,), every=10))
    yield documents(limit=6)
    yield weak_searched(seconds=1.0, names=_WEAK)
    yield Measurement(f"search: {US}, 60", partial(_search, size=60, policy="inform", seconds=2.0, embedder=NONE))


def full() -> Iterator[Measurement]:
    """Every size, with the encoder of the settings."""
    yield documents()
    yield screens()
    for size in SIZES:
        yield attacked(ours(), size, FULL)
        yield attacked(plain(), size, FULL)
    yield from useful(ours())
    yield uncorroborated(ours(), "utility")
    yield reviewed(own)
    yield from searched()
    yield from acted()


def hunted(fresh: Fresh, seconds: float, progress: Progress = silent) -> SearchResult:
    """Everything the searching attacker can do, in every scene."""
    from truekeep.redteam.attack_files import scenes
    from truekeep.redteam.hunt import search
    from truekeep.redteam.moves import MOVES

    return search(fresh, MOVES, scenes(), seconds=seconds, progress=progress)


def useful(stand: Stand) -> Iterator[Measurement]:
    """What honest people find, at every size and in an empty store."""
    for size in SIZES:
        yield asked(stand, size, 200)
    yield cold_started(stand)


def searched() -> Iterator[Measurement]:
    """The searching attacker, first where it has to find something."""
    yield weak_searched(seconds=30.0)
    for policy in ("inform", "strict"):
        for size in (60, 500):
            measured = partial(_search, size=size, policy=policy, seconds=SEARCHING)
            yield Measurement(f"search: {US}, {policy}, {size}", measured)


def acted() -> Iterator[Measurement]:
    """The agent that obeys, and the battery."""
    for size in (60, 500):
        yield Measurement(f"agent: {size}", partial(_agent, size=size, seeds=(0, 1, 2)))
    for size in SIZES:
        yield Measurement(f"battery: {size:,}", partial(_battery, size=size))


def screens() -> Measurement:
    """What the screens see of our own labelled texts."""
    return Measurement("screens", _detection)


def documents(limit: int | None = None) -> Measurement:
    """Injected documents through extraction and up to the act boundary."""
    return Measurement("yardstick: documents", partial(_documents, limit=limit))


def attacked(stand: Stand, size: int, plan: Plan) -> Measurement:
    """Attacks on what is found, on one kind of store at one size."""
    measured = partial(_retrieval, stand=stand, size=size, plan=plan)
    return Measurement(f"retrieval: {stand.defence}, {stand.encoder}, {size:,}", measured)


def asked(stand: Stand, size: int, questions: int) -> Measurement:
    """What honest people find."""
    measured = partial(_utility, stand=stand, size=size, questions=questions)
    return Measurement(f"utility: {stand.defence}, {stand.encoder}, {size:,}", measured)


def cold_started(stand: Stand) -> Measurement:
    """What an owner finds of what they have just said to an empty store."""
    return Measurement(f"utility: cold start, {stand.encoder}", partial(_cold_start, stand=stand))


def uncorroborated(stand: Stand, kind: str) -> Measurement:
    """What is found of what the owner said and nobody has confirmed or used yet."""
    return Measurement(f"{kind}: {stand.defence}, uncorroborated", partial(_uncorroborated, stand=stand))


def reviewed(load: Load) -> Measurement:
    """What it takes a person to let true facts act that were merely read."""
    return Measurement("utility: review", partial(_review, load=load, size=500))


def weak_searched(seconds: float, names: Collection[str] = ()) -> Measurement:
    """The searching attacker on defences whose holes are known, and whether it finds each at the least cost."""
    return Measurement("search: weak defences", partial(_search_weak, seconds=seconds, names=names))


@dataclass(frozen=True, slots=True)
class Stand:
    """A kind of store, and the encoder that it is measured with."""

    defence: str
    encoder: str
    opened: Callable[[Installation, int], tuple[Make, NamedEmbedder]]
    """How to make an empty one that is to hold so many memories."""


def own(installation: Installation) -> NamedEmbedder:
    """The encoder that the settings name."""
    try:
        return encoder(installation.settings.embedder)
    except TruekeepError as reason:
        raise CannotRun(str(reason)) from reason


def ours(name: str = OWN, load: Load = own) -> Stand:
    """A keep as it is configured, except that it lets hearsay in: whatever guards it comes after that."""

    def opened(installation: Installation, _size: int) -> tuple[Make, NamedEmbedder]:
        from truekeep.redteam.keep_store import KeepStore

        loaded = load(installation)
        settings = installation.settings.with_policy("inform")
        return lambda: KeepStore(loaded.embedder, settings=settings, config=installation.config), loaded

    return Stand(US, name, opened)


def plain(name: str = OWN, load: Load = own) -> Stand:
    """A store without any defence."""

    def opened(installation: Installation, _size: int) -> tuple[Make, NamedEmbedder]:
        from truekeep.redteam.store import PlainKeywords, PlainVectors

        loaded = load(installation)
        embedder = loaded.embedder
        return (PlainKeywords if embedder is None else lambda: PlainVectors(embedder)), loaded

    return Stand(PLAIN, name, opened)


def _detection(_: Installation) -> Iterator[ResultRow]:
    from truekeep.redteam.screen import measure_detection
    from truekeep.screens.standard import panel

    yield from measure_detection(panel())


def _battery(
    installation: Installation, *, size: int, share: int = 1, embedder: str | None = None
) -> Iterator[ResultRow]:
    """The attacks that are written as data, or every so many-th of them."""
    from truekeep.redteam.attack_files import attacks
    from truekeep.redteam.battery import attacked as outcomes_of
    from truekeep.redteam.playing import rows_of_battery

    with _honest(installation, size, "inform", embedder) as keep:
        outcomes = outcomes_of(keep, attacks()[::share], installation.progress)
    yield from rows_of_battery(outcomes, keep.settings.embedder, size)


def _retrieval(installation: Installation, *, stand: Stand, size: int, plan: Plan) -> Iterator[ResultRow]:
    from truekeep.redteam.retrieval import measure_retrieval

    make, loaded = stand.opened(installation, size)
    yield from measure_retrieval(make, loaded, size, plan=plan, progress=installation.progress)


def _utility(installation: Installation, *, stand: Stand, size: int, questions: int) -> Iterator[ResultRow]:
    from truekeep.redteam.utility import measure_utility

    make, loaded = stand.opened(installation, size)
    yield from measure_utility(make, loaded, size, questions, installation.progress)


def _cold_start(installation: Installation, *, stand: Stand) -> Iterator[ResultRow]:
    from truekeep.redteam.utility import measure_cold_start

    yield from measure_cold_start(*stand.opened(installation, 0))


def _uncorroborated(installation: Installation, *, stand: Stand) -> Iterator[ResultRow]:
    from truekeep.redteam.utility import measure_uncorroborated

    yield from measure_uncorroborated(*stand.opened(installation, 500), 500)


def _review(installation: Installation, *, load: Load, size: int) -> Iterator[ResultRow]:
    from truekeep.redteam.keep_store import KeepStore
    from truekeep.redteam.utility import measure_review

    loaded = load(installation)
    strict = installation.settings.with_policy("strict")
    yield from measure_review(
        lambda: KeepStore(loaded.embedder, settings=strict, config=installation.config), loaded, size
    )


def _agent(installation: Installation, *, size: int, seeds: tuple[int, ...], every: int = 1) -> Iterator[ResultRow]:
    """An agent whose model obeys whatever it reads."""
    from truekeep.redteam.agent import measure_agent
    from truekeep.redteam.keep_store import KeepStore

    def keeps(settings: Settings, size: int, seed: int) -> KeepStore:
        return KeepStore.holding(size, settings, seed=seed, config=installation.config)

    yield from measure_agent(keeps, installation.settings, size, seeds, installation.progress, every=every)


def _documents(installation: Installation, *, limit: int | None = None) -> Iterator[ResultRow]:
    from truekeep.redteam.documents import measure_documents, own_documents, some

    settings = installation.settings.with_policy("inform")
    yield from measure_documents(some(own_documents(), limit), settings=settings, progress=installation.progress)


def _search(
    installation: Installation, *, size: int, policy: str, seconds: float, embedder: str | None = None
) -> Iterator[ResultRow]:
    """Look for the cheapest sequence that breaks a keep."""
    from truekeep.redteam.hunt import rows_of_search

    with _honest(installation, size, policy, embedder) as keep:
        result = hunted(keep.stage, seconds, installation.progress)
        yield from rows_of_search(result, encoder=keep.settings.embedder, size=size, note=policy)


def _search_weak(installation: Installation, *, seconds: float, names: Collection[str]) -> Iterator[ResultRow]:
    from truekeep.redteam.hunt import rows_of_search
    from truekeep.redteam.weak import WEAK

    listed = [weak for weak in WEAK if not names or weak.name in names]
    for number, weak in enumerate(listed, 1):
        result = hunted(weak.stage, seconds)
        yield from rows_of_search(result, defence=weak.name, note="weak on purpose")
        found = {goal: one.sequence.cost for goal, one in result.found.items()}
        is_proved = all(found.get(goal) == cost for goal, cost in weak.cheapest.items()) and bool(found) == bool(
            weak.cheapest
        )
        yield ResultRow(part="search", metric="proved", hits=int(is_proved), total=1, defence=weak.name)
        installation.progress("weak defences searched", number, len(listed))


def _honest(installation: Installation, size: int, policy: str, embedder: str | None) -> KeepStore:
    from truekeep.redteam.keep_store import KeepStore

    settings = replace(installation.settings.with_policy(policy), embedder=embedder or installation.settings.embedder)
    return KeepStore.holding(size, settings, config=installation.config, progress=installation.progress)
