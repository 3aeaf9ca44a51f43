"""Plants, asks and counts: how often a planted record comes up and may act, and which truths it pushes out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from truekeep.redteam.figures import Progress, ResultRow, silent
from truekeep.redteam.honest import HonestQuestion, entries, questions
from truekeep.redteam.retrieval_attacks import (
    ATTACKS,
    Aim,
    Definition,
    Fluent,
    Poison,
    RetrievalAttack,
    Searched,
    triggers,
)
from truekeep.redteam.store import HELD, REFUSED, OpenGate, Store, StoreHit

if TYPE_CHECKING:
    from truekeep.redteam.encoders import NamedEmbedder

PART = "retrieval"
K = 5
HIJACKS = ("rank1", "top5", "acting_rank1", "acting_top5", "filtered_rank1", "filtered_top5")
"""In plain recall; among what may act (the gate before the search); among what plain recall gives and may act."""
_CONTROLS = 5
"""Questions of each planting that are asked with nothing planted."""
_LEADING = (Fluent.name, Definition.name)
_CARRIERS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """Numbers of things; the defaults are those of a full run of our own keep."""

    queries: int = 200
    """Honest questions, asked in turn."""
    leading: int = 84
    """Questions for each trigger with the two attacks whose bounds have to be narrow: 24 triggers make 2,016 pairs."""
    others: int = 20
    """Questions for each trigger with the other attacks."""
    triggers: int = 24
    fitted: int = 24
    """Of them, those that are fitted to the encoder; each takes hundreds of texts to embed."""
    known: int = 200
    """Questions that are attacked one by one, for attacks that know the question."""
    together: int = 10
    """How many of those are attacked between two resets, each with a record of its own."""

    def share(self, attack: RetrievalAttack) -> int:
        """How many questions are asked of each planting."""
        return min(self.queries, self.leading if attack.name in _LEADING else self.others)


FULL = Plan()
QUICK = Plan(queries=24, leading=3, others=1, triggers=4, fitted=1, known=4)


@dataclass(frozen=True, slots=True)
class Round:
    """What is planted at once, and who then asks for which of it."""

    plantings: tuple[tuple[Aim, tuple[HonestQuestion, ...]], ...]


def measure_retrieval(
    make: Callable[[], Store],
    encoder: NamedEmbedder,
    size: int,
    attacks: Sequence[str] | None = None,
    plan: Plan = FULL,
    progress: Progress = silent,
) -> Iterator[ResultRow]:
    """Attack a store of this size, made empty by ``make``, and give a row for each figure as it is known.

    ``attacks`` are names from ``ATTACKS``, all of them for ``None``. Each row is about one defence, encoder, size and
    attack; its ``detail`` says what the attack costs. Rows with the metric ``control`` count planted values in answers
    of a store in which nothing was planted, and ``canary`` whether the same attacks are seen to act on the same store
    without its gate: unless the first is 0 and the second 1, the run measured nothing.
    """
    with closing(make()) as store:
        progress(f"{store.name}, {encoder.name}: filling {size:,}", 0, size)
        store.fill(entries(size))
        chosen = [ATTACKS[name] for name in (ATTACKS if attacks is None else attacks)]
        yield from Bench(store, encoder, size, plan, progress).rows(chosen)


@dataclass(slots=True)
class Count:
    """What one attack got."""

    hits: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    displaced: int = 0
    watched: int = 0
    held: int = 0
    rejected: int = 0
    planted: int = 0
    plantings: int = 0


class Bench:
    """One filled store, and everything that is measured on it."""

    def __init__(
        self, store: Store, encoder: NamedEmbedder, size: int, plan: Plan, progress: Progress = silent
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._size = size
        self._plan = plan
        self._progress = progress
        self._before: dict[str, list[StoreHit]] = {}
        """What may act for each query before anything is planted; asked once."""

    def rows(self, attacks: Sequence[RetrievalAttack]) -> Iterator[ResultRow]:
        """The figures of every attack, then the control and the canary."""
        raw = 0
        for done, attack in enumerate(attacks, 1):
            count = self.attacked(attack)
            raw += count.hits["top5"]
            yield from self._told(attack, count)
            self._progress(f"{self._store.name}, {self._encoder.name}, {self._size:,}", done, len(attacks))
        yield self._control(attacks)
        if raw:  # a store that let nothing in has nothing that a missing gate could let act
            yield self._canary(attacks)

    def attacked(self, attack: RetrievalAttack) -> Count:
        """Play all rounds of an attack, each on the store as it was filled."""
        count = Count()
        for one in rounds(attack, self._plan):
            self._play(attack, one, count)
        return count

    def _play(self, attack: RetrievalAttack, one: Round, count: Count) -> None:
        crafted = [(attack.craft(aim, self._encoder), asked) for aim, asked in one.plantings]
        self._warm(crafted)
        known = {query: self._acting_before(query) for query in _queries(crafted)}
        try:
            for poison, _ in crafted:
                came = self._store.plant(poison.entries)
                count.planted += len(came)
                count.held += came.count(HELD)
                count.rejected += came.count(REFUSED)
                count.plantings += 1
            for poison, asked in crafted:
                for question in asked:
                    self._ask(poison, question, known[poison.query(question.text)], count)
        finally:
            self._store.reset()

    def _ask(self, poison: Poison, question: HonestQuestion, before: Sequence[StoreHit], count: Count) -> None:
        query = poison.query(question.text)
        plain, acting = self._store.recall(query, K), self._store.acting(query, K)
        count.pairs += 1
        count.hits.update(hijacks(poison, plain, acting))
        if _answered(question, before):
            count.watched += 1
            count.displaced += not _answered(question, acting)

    def _acting_before(self, query: str) -> list[StoreHit]:
        if query not in self._before:
            self._before[query] = self._store.acting(query, K)
        return self._before[query]

    def _warm(self, crafted: Sequence[tuple[Poison, Sequence[HonestQuestion]]]) -> None:
        self._encoder.warm(_queries(crafted), [entry.text for poison, _ in crafted for entry in poison.entries])

    def _told(self, attack: RetrievalAttack, count: Count) -> Iterator[ResultRow]:
        cost = {"records": attack.records, "principals": attack.principals, "plantings": count.plantings}
        for metric in HIJACKS:
            yield self._row(metric, count.hits[metric], count.pairs, attack.name, cost=cost)
        yield self._row("displaced", count.displaced, count.watched, attack.name, cost=cost)
        apart = {**cost, "rejected": count.rejected, "held": count.held}
        yield self._row("detected", count.rejected + count.held, count.planted, attack.name, cost=apart)

    def _control(self, attacks: Sequence[RetrievalAttack]) -> ResultRow:
        """Questions of every attack, with nothing planted: no answer may have a planted value in it."""
        wanted: dict[str, set[str]] = defaultdict(set)
        for attack in attacks:
            for one in rounds(attack, self._plan):
                aim, asked = one.plantings[0]
                poison = attack.craft(aim, self._encoder)
                for question in asked[:_CONTROLS]:
                    wanted[poison.query(question.text)].add(poison.value)
        hits = sum(self._has(query, values) for query, values in wanted.items())
        return self._row("control", hits, len(wanted), note="nothing planted")

    def _has(self, query: str, values: Iterable[str]) -> bool:
        found = [*self._store.recall(query, K), *self._store.acting(query, K)]
        return any(value in hit.text for value in values for hit in found)

    def _canary(self, attacks: Sequence[RetrievalAttack]) -> ResultRow:
        """The same store without its gate: whatever comes up acts, and the measure has to see that."""
        open_gate = Bench(OpenGate(self._store), self._encoder, self._size, self._plan)
        caught = any(open_gate.acts(attack) for attack in attacks)
        return self._row("canary", int(caught), 1, note="acting = recall")

    def acts(self, attack: RetrievalAttack) -> bool:
        """Whether any round of an attack makes a planted record act; stops at the first that does."""
        for one in rounds(attack, self._plan):
            count = Count()
            self._play(attack, one, count)
            if count.hits["acting_top5"]:
                return True
        return False

    def _row(
        self,
        metric: str,
        hits: int,
        total: int,
        attack: str = "",
        note: str = "",
        cost: Mapping[str, int] | None = None,
    ) -> ResultRow:
        return ResultRow(
            part=PART,
            metric=metric,
            hits=hits,
            total=total,
            defence=self._store.name,
            encoder=self._encoder.name,
            size=self._size,
            attack=attack,
            note=note,
            detail={"version": self._store.version, **(cost or {})},
        )


def hijacks(poison: Poison, plain: Sequence[StoreHit], acting: Sequence[StoreHit]) -> set[str]:
    """Which of the hijacks one answer is."""
    filtered = [hit for hit in plain if hit.may_act]
    ways = zip(("", "acting_", "filtered_"), (plain, acting, filtered), strict=True)
    found = {way: [poison.is_in(hit.text) for hit in hits] for way, hits in ways}
    first = {f"{way}rank1" for way, hits in found.items() if hits[:1] == [True]}
    return first | {f"{way}top5" for way, hits in found.items() if any(hits)}


def _queries(crafted: Sequence[tuple[Poison, Sequence[HonestQuestion]]]) -> list[str]:
    return [poison.query(question.text) for poison, asked in crafted for question in asked]


def _answered(question: HonestQuestion, hits: Sequence[StoreHit]) -> bool:
    return any(hit.may_act and hit.text in question.answers for hit in hits)


def rounds(attack: RetrievalAttack, plan: Plan) -> Iterator[Round]:
    """Every round of an attack."""
    asked, carriers = _asked(plan)
    if attack.knows_question:
        yield from _known(asked[: plan.known], plan.together)
        return
    share = plan.share(attack)
    used = min(plan.triggers, plan.fitted) if attack.name == Searched.name else plan.triggers
    for number, trigger in enumerate(triggers()[:used]):
        # Shares follow one another, so that every question meets many triggers and the first share is everybody's.
        turn = [asked[(number * plan.leading + place) % len(asked)] for place in range(share)]
        yield Round(((Aim(trigger, turn[0].text, number, carriers), tuple(turn)),))


def _known(asked: Sequence[HonestQuestion], together: int) -> Iterator[Round]:
    trigger = triggers()[0]
    for first in range(0, len(asked), together):
        yield Round(
            tuple(
                (Aim(trigger, question.text, first + place), (question,))
                for place, question in enumerate(asked[first : first + together])
            )
        )


def _asked(plan: Plan) -> tuple[tuple[HonestQuestion, ...], tuple[str, ...]]:
    """The questions that are asked, and others such as an attacker may expect."""
    listed = questions(plan.queries + _CARRIERS)
    return listed[: plan.queries], tuple(question.text for question in listed[plan.queries :])
