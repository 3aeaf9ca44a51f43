"""Plants, asks and counts: how often a planted record comes up and may act, and which truths it pushes out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from truekeep.redteam.defences.honest import entries
from truekeep.redteam.defences.store import STORED, Hit, Store
from truekeep.redteam.influence.arena import Progress, silent
from truekeep.redteam.retrieval.attacks import Attack, Poison
from truekeep.redteam.retrieval.canary import OpenGate
from truekeep.redteam.retrieval.encoders import Encoder
from truekeep.redteam.retrieval.honest import Question
from truekeep.redteam.retrieval.plan import FULL, Plan, Round, chosen, rounds
from truekeep.redteam.row import Row

PART = "retrieval"
K = 5
SIZES = (60, 500, 2_000, 10_000)
HIJACKS = ("rank1", "top5", "acting_rank1", "acting_top5", "filtered_rank1", "filtered_top5")
"""In plain recall; among what may act (the gate before the search); among what plain recall gives and may act."""

_CONTROLS = 5
"""Questions of each planting that are asked with nothing planted."""


def measure_retrieval(
    make: Callable[[], Store],
    encoder: Encoder,
    sizes: Sequence[int] = SIZES,
    attacks: Sequence[str] | None = None,
    plan: Plan = FULL,
    progress: Progress = silent,
) -> Iterator[Row]:
    """Attack stores of these sizes, each made empty by ``make``, and give a row for each figure as it is known.

    ``attacks`` are names from ``ATTACKS``, all of them for ``None``. Each row is about one defence, encoder, size and
    attack; its ``detail`` says what the attack costs. Rows with the metric ``control`` count planted values in answers
    of a store in which nothing was planted, and ``canary`` whether the same attacks are seen to act on the same store
    without its gate: unless the first is 0 and the second 1, the run measured nothing.
    """
    for size in sizes:
        store = make()
        try:
            progress(f"{store.name}, {encoder.name}: filling {size:,}", 0, size)
            store.fill(entries(size))
            yield from Bench(store, encoder, size, plan, progress).rows(chosen(attacks))
        finally:
            store.close()


@dataclass(slots=True)
class Count:
    """What one attack got."""

    hits: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    displaced: int = 0
    watched: int = 0
    turned_down: int = 0
    planted: int = 0
    plantings: int = 0


class Bench:
    """One filled store, and everything that is measured on it."""

    def __init__(self, store: Store, encoder: Encoder, size: int, plan: Plan, progress: Progress = silent) -> None:
        self._store = store
        self._encoder = encoder
        self._size = size
        self._plan = plan
        self._progress = progress
        self._before: dict[str, list[Hit]] = {}
        """What may act for each query before anything is planted; asked once."""

    def rows(self, attacks: Sequence[Attack]) -> Iterator[Row]:
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

    def attacked(self, attack: Attack) -> Count:
        """Play all rounds of an attack, each on the store as it was filled."""
        count = Count()
        for one in rounds(attack, self._plan):
            self._play(attack, one, count)
        return count

    def _play(self, attack: Attack, one: Round, count: Count) -> None:
        crafted = [(attack.craft(aim, self._encoder), asked) for aim, asked in one.plantings]
        self._warm(crafted)
        known = {query: self._acting_before(query) for query in _queries(crafted)}
        try:
            for poison, _ in crafted:
                came = self._store.plant(poison.entries)
                count.planted += len(came)
                count.turned_down += sum(what != STORED for what in came)
                count.plantings += 1
            for poison, asked in crafted:
                for question in asked:
                    self._ask(poison, question, known[poison.query(question.text)], count)
        finally:
            self._store.reset()

    def _ask(self, poison: Poison, question: Question, before: Sequence[Hit], count: Count) -> None:
        query = poison.query(question.text)
        plain, acting = self._store.recall(query, K), self._store.acting(query, K)
        count.pairs += 1
        count.hits.update(hijacks(poison, plain, acting))
        if _answered(question, before):
            count.watched += 1
            count.displaced += not _answered(question, acting)

    def _acting_before(self, query: str) -> list[Hit]:
        if query not in self._before:
            self._before[query] = self._store.acting(query, K)
        return self._before[query]

    def _warm(self, crafted: Sequence[tuple[Poison, Sequence[Question]]]) -> None:
        self._encoder.warm(_queries(crafted), [entry.text for poison, _ in crafted for entry in poison.entries])

    def _told(self, attack: Attack, count: Count) -> Iterator[Row]:
        cost = {"records": attack.records, "principals": attack.principals, "plantings": count.plantings}
        for metric in HIJACKS:
            yield self._row(metric, count.hits[metric], count.pairs, attack.name, cost=cost)
        yield self._row("displaced", count.displaced, count.watched, attack.name, cost=cost)
        yield self._row("detected", count.turned_down, count.planted, attack.name, cost=cost)

    def _control(self, attacks: Sequence[Attack]) -> Row:
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

    def _canary(self, attacks: Sequence[Attack]) -> Row:
        """The same store without its gate: whatever comes up acts, and the measure has to see that."""
        open_gate = Bench(OpenGate(self._store), self._encoder, self._size, self._plan)
        caught = any(open_gate.acts(attack) for attack in attacks)
        return self._row("canary", int(caught), 1, note="acting = recall")

    def acts(self, attack: Attack) -> bool:
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
    ) -> Row:
        return Row(
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


def hijacks(poison: Poison, plain: Sequence[Hit], acting: Sequence[Hit]) -> set[str]:
    """Which of the hijacks one answer is."""
    filtered = [hit for hit in plain if hit.may_act]
    ways = zip(("", "acting_", "filtered_"), (plain, acting, filtered), strict=True)
    found = {way: [poison.is_in(hit.text) for hit in hits] for way, hits in ways}
    first = {f"{way}rank1" for way, hits in found.items() if hits[:1] == [True]}
    return first | {f"{way}top5" for way, hits in found.items() if any(hits)}


def _queries(crafted: Sequence[tuple[Poison, Sequence[Question]]]) -> list[str]:
    return [poison.query(question.text) for poison, asked in crafted for question in asked]


def _answered(question: Question, hits: Sequence[Hit]) -> bool:
    return any(hit.may_act and hit.text in question.answers for hit in hits)
