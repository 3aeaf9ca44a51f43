"""Recall: which memories answer a query, best first, with what was withheld and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import merge
from itertools import permutations
from typing import TYPE_CHECKING, Any

from truekeep.claims.corrected import Corrected
from truekeep.claims.may_act_now import ANYBODY
from truekeep.claims.newer import APART, DatedHit, newest_first
from truekeep.search import windows
from truekeep.search.about import stated
from truekeep.stores.records import memory_from
from truekeep.trust.origin import AGENT
from truekeep.types import Memory, Recalled, Standing

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.read.reader import RecordReader, Shown
    from truekeep.records.catalog import Catalog
    from truekeep.records.gists import Gists
    from truekeep.records.rows import Versions
    from truekeep.search import Hit
    from truekeep.stores.ledger import Ledger
    from truekeep.trust.influence import Reader

_PAGE = 16
"""Hits that are verified at a time: most questions are answered by the first page."""
_DOUBTED = 0.8
"""What led to a bad outcome comes a little later; it is not hidden."""
_MOST_COMPARED = 50
"""Hits that are compared with each other; longer answers are listings."""
_MOST_VERSIONS = 200
"""Earlier versions that an answer about another time is chosen from."""


class Recall(list[Recalled]):
    """The hits of a recall, best first, and how many were withheld for which reason."""

    def __init__(
        self, hits: Iterable[Recalled] = (), withheld: Mapping[str, int] | None = None, degraded: str = ""
    ) -> None:
        super().__init__(hits)
        self.withheld: dict[str, int] = dict(withheld or {})
        self.degraded = degraded
        """Why the search went by keywords alone, if the embedder could not be used."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What an answer is limited to; an empty set limits nothing. Filters are never relaxed."""

    kinds: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    entities: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Names and the values they must have. Whoever wrote the memory wrote them: they narrow, they prove nothing."""
    where: Callable[[Memory], bool] | None = None
    """Any further limit; it is asked last."""

    def admit(self, memory: Memory) -> bool:
        """Whether the memory is within all limits."""
        return (
            (not self.kinds or memory.kind in self.kinds)
            and (not self.topics or not self.topics.isdisjoint(memory.topics))
            and (not self.entities or not self.entities.isdisjoint(memory.entities))
            and (not self.channels or memory.origin.channel in self.channels)
            and (self.since is None or memory.as_of >= self.since)
            and (self.until is None or memory.as_of < self.until)
            and all(memory.metadata.get(name) == value for name, value in self.metadata.items())
            and (self.where is None or self.where(memory))
        )


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What is asked: the words and the limits of the answer."""

    text: str
    k: int
    now: datetime
    """When it is asked; who may act is decided for this moment."""
    influence_only: bool = False
    background: bool = True
    """Whether the answer may hold what only informs; without it only what may act and the agent's clean notes."""
    max_chars: int | None = None
    min_score: float = 0.0
    half_life_days: float = 0.0
    as_of: datetime | None = None
    """The moment that is asked about, if it is not now."""
    filters: Filters = Filters()
    explain: bool = False
    whom: Reader = ANYBODY

    @property
    def acting_only(self) -> bool:
        """Whether hearsay is left out from the start."""
        return self.influence_only or not self.background

    @property
    def moment(self) -> datetime:
        """The moment that is asked about."""
        return self.as_of or self.now

    def admits(self, memory: Memory) -> bool:
        """Whether the memory is within the limits of the question."""
        return (self.as_of is None or memory.begins <= self.as_of) and self.filters.admit(memory)


class Recaller:
    """Answers queries from one keep."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        gists: Gists,
        versions: Versions,
        reader: RecordReader,
        settings: Settings,
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._gists = gists
        self._versions = versions
        self._reader = reader
        self._settings = settings
        self._corrected = Corrected(ledger)

    def answer(self, query: RecallQuery) -> Recall:
        """The best k memories under the flood cap; ``influence_only`` filters before ranking is cut, not after."""
        withheld: Counter[str] = Counter()
        if not any(mark.isalnum() for mark in query.text):
            return Recall()
        flood = _FloodCap(query.k, self._settings.flood_share)
        found: list[_Proposal] = []
        for proposal in self._proposals(query, flood, withheld):
            reason = _withheld(query, proposal) or flood.admit(proposal.shown)
            if reason:
                withheld[reason] += 1
                continue
            found.append(proposal)
            if len(found) >= query.k:
                break
        if query.acting_only and (left_out := self._catalog.hearsay_count()):
            withheld["may_not_act"] += left_out
        hits = _within(self._newest_first(query, found), query.max_chars, withheld)
        return Recall(hits, withheld, self._catalog.degraded)

    def _newest_first(self, query: RecallQuery, found: Sequence[_Proposal]) -> list[Recalled]:
        """The hits, newer before older where they are about the same thing; not where another time is asked about."""
        compared = [place for place, one in enumerate(found) if one.hit is not None]
        if query.as_of is not None or query.half_life_days > 0 or len(compared) < 2 or len(compared) > _MOST_COMPARED:
            return [_recalled(one) for one in found]
        chosen = [found[place] for place in compared]
        said = [DatedHit(one.hit.closeness, one.shown.memory.as_of, one.shown.may_act) for one in chosen if one.hit]
        ordered = newest_first(said, _likeness(chosen), self._links(chosen))
        places = iter(compared[place] for place in ordered.places)
        ids = [one.shown.memory.id for one in chosen]
        newer = {ids[elder]: ids[place] for elder, place in ordered.older.items()}
        order = [next(places) if place in compared else place for place in range(len(found))]
        return [_recalled(found[place], newer.get(found[place].shown.memory.id)) for place in order]

    def _links(self, chosen: Sequence[_Proposal]) -> frozenset[tuple[int, int]]:
        """Which hit corrects which other one, or was said later and names another value in the same words."""
        named = [stated(one.shown.text) if one.shown.may_act else None for one in chosen]
        found = set()
        for newer, elder in permutations(range(len(chosen)), 2):
            one, other, new, old = chosen[newer].shown.memory, chosen[elder].shown.memory, named[newer], named[elder]
            is_later = one.as_of - other.as_of >= APART
            is_other = is_later and new is not None and old is not None and new.gives_another(old)
            if is_other or self._corrected.corrects(one, other):
                found.add((newer, elder))
        return frozenset(found)

    def _proposals(self, query: RecallQuery, flood: _FloodCap, withheld: Counter[str]) -> Iterator[_Proposal]:
        """Verified hits in order of their score; about another moment with the versions of that time among them."""
        if query.as_of is not None and not query.acting_only:
            return merge(self._living(query, flood, withheld), self._earlier(query), key=lambda one: -one.score)
        return self._living(query, flood, withheld)

    def _earlier(self, query: RecallQuery) -> Iterator[_Proposal]:
        """Versions that were changed since and held at the moment that is asked about, best first."""
        for score, version in self._versions.search(query.text, today=query.moment.date())(_MOST_VERSIONS):
            if query.admits(version.memory):
                shown = self._reader.earlier(version.memory, version.until)
                yield _Proposal(self._score(score, version.memory, query), shown, {})

    def _living(self, query: RecallQuery, flood: _FloodCap, withheld: Counter[str]) -> Iterator[_Proposal]:
        """A page at a time until nothing more is related.

        Once hearsay has had its share, a page is looked for among the rest only: a flood costs one page, not all of it.
        """
        read: set[int] = set()
        page, acting_only = max(_PAGE, 3 * query.k), query.acting_only
        search = self._search(query, acting_only=acting_only)
        while True:
            found = search(page)
            fresh = [hit for hit in found if hit.seq not in read]
            read.update(hit.seq for hit in fresh)
            yield from self._verified(query, fresh, flood, withheld)
            if flood.is_full and not acting_only:
                acting_only = True
                search = self._search(query, acting_only=True)
            elif len(found) < page:
                return
            page *= 4

    def _search(self, query: RecallQuery, *, acting_only: bool) -> Callable[[int], list[Hit]]:
        text, today, explain = query.text, query.moment.date(), query.explain
        floor = self._settings.recall_floor
        words = self._catalog.search(text, today=today, acting_only=acting_only, explain=explain, floor=floor)
        return lambda k: self._gists.behind(words(k), k, text, today=today, explain=explain)

    def _verified(
        self, query: RecallQuery, found: Sequence[Hit], flood: _FloodCap, withheld: Counter[str]
    ) -> Iterator[_Proposal]:
        for score, hit, memory in self._scored(query, found):
            if flood.is_full and self._catalog.is_hearsay(memory.seq):
                withheld["flood_cap"] += 1
                continue
            shown = self._best_copy(query, memory, hit)
            if shown is not None:
                yield _Proposal(score, shown, hit.explain, hit)

    def _best_copy(self, query: RecallQuery, memory: Memory, hit: Hit) -> Shown | None:
        """Of memories that say the same in the same words one that may act, else the first within the query's limits.

        Otherwise a copy that proves nothing would stand in for the owner's own words and be withheld in their place.
        """
        first: Shown | None = None
        for copy in self._copies(memory, hit):
            if not query.admits(copy):
                continue
            shown = self._reader.shown(copy, query.now, whom=query.whom)
            if shown.may_act:
                return shown
            if first is None or _is_over(query, first):
                first = shown
        return first

    def _copies(self, memory: Memory, hit: Hit) -> Iterator[Memory]:
        """A hit and its copies; hearsay is not even read, since it can neither act nor stand for what could."""
        yield memory
        places = [seq for seq in hit.duplicates if not self._catalog.is_hearsay(seq)]
        for start in range(0, len(places), _PAGE):
            yield from map(memory_from, self._ledger.at("memories", places[start : start + _PAGE]).values())

    def _scored(self, query: RecallQuery, found: Sequence[Hit]) -> Iterator[tuple[float, Hit, Memory]]:
        """Hits with their memories, best first. Where age does not change the order, only what is asked for is read."""
        portion = query.k if query.half_life_days <= 0 else max(1, len(found))
        for start in range(0, len(found), portion):
            by_place = {hit.seq: hit for hit in found[start : start + portion]}
            rows = self._ledger.at("memories", list(by_place))
            memories = [(by_place[seq], memory_from(sealed)) for seq, sealed in rows.items()]
            scored = [(self._score(hit.score, memory, query), hit, memory) for hit, memory in memories]
            yield from sorted(scored, key=lambda one: -one[0])

    def _score(self, score: float, memory: Memory, query: RecallQuery) -> float:
        """The hit's score, less for age and for outcomes that were more often bad than good; neither removes it."""
        if query.half_life_days > 0:
            age = max(0.0, (query.moment - memory.as_of).total_seconds() / 86_400)
            score *= 0.5 ** (age / query.half_life_days)
        return score * _DOUBTED if self._reader.outcomes(memory) < 0 else score


@dataclass(frozen=True, slots=True)
class _Proposal:
    score: float
    shown: Shown
    explain: Mapping[str, float]
    hit: Hit | None = None


class _FloodCap:
    """Hearsay and blocked entries take at most their share of k, whatever their number."""

    def __init__(self, k: int, share: float) -> None:
        self._left = int(k * share)

    @property
    def is_full(self) -> bool:
        return self._left <= 0

    def admit(self, shown: Shown) -> str | None:
        if shown.may_act or (shown.memory.standing is not Standing.HEARSAY and not shown.blocked):
            return None
        if self._left <= 0:
            return "flood_cap"
        self._left -= 1
        return None


def _withheld(query: RecallQuery, proposal: _Proposal) -> str | None:
    shown = proposal.shown
    if _is_over(query, shown):
        return "superseded" if shown.retired_by else "expired"
    if query.influence_only and not shown.may_act:
        return "blocked" if shown.blocked else "may_not_act"
    if not query.background and not (shown.may_act or shown.is_note):
        return "blocked" if shown.blocked else "only_informs"
    return "below_min_score" if proposal.score < query.min_score else None


def _is_over(query: RecallQuery, shown: Shown) -> bool:
    return not shown.held_at(query.as_of) if query.as_of is not None else shown.is_over(query.now)


def _likeness(chosen: Sequence[_Proposal]) -> list[list[float]]:
    """How like the answering parts are; what has no vector is like nothing."""
    parts = [one.hit.part if one.hit is not None else None for one in chosen]
    return [[float(one @ other) if one is not None and other is not None else 0.0 for other in parts] for one in parts]


def _within(hits: Sequence[Recalled], most: int | None, withheld: Counter[str]) -> list[Recalled]:
    """Whole passages while they fit; of one that is too long by itself the part that answers."""
    if most is None:
        return list(hits)
    kept: list[Recalled] = []
    for hit in hits:
        if len(hit.text) <= most:
            kept.append(hit)
        elif hit.window is not None and not hit.blocked and hit.window[1] - hit.window[0] <= most:
            kept.append(replace(hit, text=hit.text[slice(*hit.window)]))
        else:
            withheld["over_budget"] += 1
            continue
        most -= len(kept[-1].text)
    return [hit if hit.text != hit.memory.text else replace(hit, window=None) for hit in kept]


def _recalled(proposal: _Proposal, newer: str | None = None) -> Recalled:
    shown, memory = proposal.shown, proposal.shown.memory
    if shown.blocked:
        memory = replace(memory, text=shown.text, topics=(), entities=(), metadata={})
    elif memory.approval and memory.approval.rules:
        memory = replace(memory, text=shown.text)  # no way round what was taken out of the text
    return Recalled(
        text=shown.text,
        score=round(proposal.score, 6),
        may_act=shown.may_act,
        why=shown.why,
        blocked=shown.blocked,
        as_of=memory.as_of,
        memory=memory,
        explain=dict(proposal.explain),
        contests=shown.place.contests,
        retired_by=shown.retired_by,
        valid_until=shown.valid_until,
        gist=shown.plain_gist,
        question=shown.question,
        newer=newer,
        window=_window(proposal),
    )


def only_informs(hit: Recalled) -> bool:
    """Whether a hit is neither able to act nor a clean note, so that a session that sees it is no longer clean."""
    note = hit.memory.origin.channel == AGENT and hit.memory.standing is Standing.ENROLLED
    return not hit.blocked and not hit.may_act and not note


def _window(proposal: _Proposal) -> tuple[int, int] | None:
    """Where in the text the part stands that answers, if it was embedded by itself and shows as it was said."""
    memory, hit = proposal.shown.memory, proposal.hit
    if hit is None or hit.window == 0 or memory.question or proposal.shown.text != memory.text:
        return None
    spans = windows(memory.text)
    return spans[hit.window] if hit.window < len(spans) else None
