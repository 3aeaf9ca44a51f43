"""What a defence costs honest people: how often a fact is found, at all and behind the gate, early and after review."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from truekeep.redteam.defences.honest import told, unproved
from truekeep.redteam.defences.keep_store import Effort
from truekeep.redteam.defences.store import Hit, Store
from truekeep.redteam.influence.arena import Progress, silent
from truekeep.redteam.influence.benign import OWNER, READ, Fact, facts
from truekeep.redteam.influence.outcome import Rate
from truekeep.redteam.influence.utility import GATED, GROUPS
from truekeep.redteam.retrieval.encoders import Encoder
from truekeep.redteam.row import Row

PART = "utility"
QUESTIONS = 200
COLD = 60
"""How many of their own facts an owner has just told an empty store."""
_K = 5
_MOST_SEEDS = 16
_REVIEWED = 500


@runtime_checkable
class Counting(Protocol):
    """A store that knows how many honest texts it did not take."""

    @property
    def turned_down(self) -> Rate:
        """How many of how many."""


@runtime_checkable
class Reviewed(Protocol):
    """A store in which a person can let what was read act."""

    def review(self) -> Effort:
        """Approve all that waits; what that took."""


def measure_utility(
    make: Callable[[], Store],
    encoder: Encoder,
    sizes: Sequence[int],
    questions: int = QUESTIONS,
    progress: Progress = silent,
) -> Iterator[Row]:
    """For stores of these sizes, and for each group of facts: found by plain recall, and found behind the gate.

    The metrics are ``plain`` and ``gate``, and ``note`` is what ``GROUPS`` says of the group; ``turned_down`` counts
    honest texts that were refused or held. A small store has few facts, so that several are asked, each with other
    facts.
    """
    for size in sizes:
        counts: Counter[tuple[str, str]] = Counter()
        refused = Counter[str]()
        for seed in range(_MOST_SEEDS):
            if all(counts[group, "asked"] >= questions for group in GATED):
                break
            store = make()
            try:
                said = facts(size, seed)
                store.fill(told(said))
                _ask(store, said, questions, counts, encoder)
                _count_refused(store, refused)
            finally:
                store.close()
            progress(f"{store.name}, {encoder.name}: honest questions on {size:,}", seed + 1, _MOST_SEEDS)
        yield from _rows(store, encoder, size, counts, refused)


def measure_cold_start(make: Callable[[], Store], encoder: Encoder, questions: int = QUESTIONS) -> Iterator[Row]:
    """An owner tells an empty store their own facts and asks for them at once: nothing corroborates anything yet."""
    store = make()
    try:
        owned = [fact for fact in facts(10 * COLD) if fact.group == OWNER][:COLD]
        store.fill(unproved(told(owned)))
        counts: Counter[tuple[str, str]] = Counter()
        _ask(store, owned, questions, counts, encoder)
        for way in ("plain", "gate"):
            hits, total = counts[OWNER, way], counts[OWNER, "asked"]
            yield _row(store, encoder, COLD, f"cold_start_{way}", hits, total, "the owner's own facts, just said")
    finally:
        store.close()


def measure_uncorroborated(
    make: Callable[[], Store], encoder: Encoder, size: int = _REVIEWED, questions: int = QUESTIONS
) -> Iterator[Row]:
    """The owner's own facts, which nobody has used yet, among others that have proved themselves."""
    store = make()
    try:
        said = facts(size)
        store.fill(unproved(told(said)))
        owned = [fact for fact in said if fact.group == OWNER]
        counts: Counter[tuple[str, str]] = Counter()
        _ask(store, owned, questions, counts, encoder)
        note = "the owner's own facts, not used yet"
        for way in ("plain", "gate"):
            hits, total = counts[OWNER, way], counts[OWNER, "asked"]
            yield _row(store, encoder, size, f"uncorroborated_{way}", hits, total, note)
    finally:
        store.close()


def measure_review(
    make: Callable[[], Store], encoder: Encoder, size: int = _REVIEWED, questions: int = QUESTIONS
) -> Iterator[Row]:
    """The honest cost: true facts that were merely read, behind the gate, before and after a person looked at them.

    Give it a store that holds what was read for review. What the person had to do is in ``detail``.
    """
    store = make()
    try:
        said = facts(size)
        store.fill(told(said))
        read = [fact for fact in said if fact.group == READ]
        yield _read(store, encoder, size, read, questions, "read_before_review", {"facts": len(read)})
        if isinstance(store, Reviewed):
            effort = store.review()
            spent = {"facts": len(read), "decisions": effort.decisions, "groups": effort.groups}
            yield _read(store, encoder, size, read, questions, "read_after_review", spent)
    finally:
        store.close()


def _read(
    store: Store, encoder: Encoder, size: int, read: Sequence[Fact], most: int, metric: str, detail: Mapping[str, Any]
) -> Row:
    counts: Counter[tuple[str, str]] = Counter()
    _ask(store, read, most, counts, encoder)
    hits, total = counts[READ, "gate"], counts[READ, "asked"]
    return _row(store, encoder, size, metric, hits, total, "merely read, behind the gate", detail)


def _ask(store: Store, said: Sequence[Fact], most: int, counts: Counter[tuple[str, str]], encoder: Encoder) -> None:
    """Ask about facts by chance and not in their order: what came in early has met less hearsay before it."""
    shuffled = random.Random(len(said)).sample(said, len(said))  # noqa: S311 - the same ones every time
    chosen: list[tuple[Fact, str]] = []
    left = Counter({group: most - counts[group, "asked"] for group in GROUPS})
    for fact in shuffled:
        for question in fact.questions[: max(0, left[fact.group])]:
            left[fact.group] -= 1
            chosen.append((fact, question))
    encoder.warm([question for _, question in chosen])
    for fact, question in chosen:
        counts[fact.group, "asked"] += 1
        counts[fact.group, "plain"] += any(hit.text in fact.answers for hit in store.recall(question, _K))
        counts[fact.group, "gate"] += _acts(fact, store.acting(question, _K))


def _acts(fact: Fact, hits: Sequence[Hit]) -> bool:
    return any(hit.text in fact.answers and hit.may_act for hit in hits)


def _count_refused(store: Store, refused: Counter[str]) -> None:
    if isinstance(store, Counting):
        refused["hits"] += store.turned_down.hits
        refused["total"] += store.turned_down.total


def _rows(
    store: Store, encoder: Encoder, size: int, counts: Counter[tuple[str, str]], refused: Counter[str]
) -> Iterator[Row]:
    for group, meaning in GROUPS.items():
        for way in ("plain", "gate"):
            if asked := counts[group, "asked"]:
                yield _row(store, encoder, size, way, counts[group, way], asked, meaning)
    if refused["total"]:
        note = "honest texts, those of pages aside, refused or held"
        yield _row(store, encoder, size, "turned_down", refused["hits"], refused["total"], note)


def _row(
    store: Store,
    encoder: Encoder,
    size: int,
    metric: str,
    hits: int,
    total: int,
    note: str,
    detail: Mapping[str, Any] | None = None,
) -> Row:
    return Row(
        part=PART,
        metric=metric,
        hits=hits,
        total=total,
        defence=store.name,
        encoder=encoder.name,
        size=size,
        note=note,
        detail={"version": store.version, **(detail or {})},
    )
