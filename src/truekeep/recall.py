"""Recall: which memories answer a query, best first, with what was withheld and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from truekeep.config import Settings
from truekeep.reading import Reader, Shown, is_expired
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.types import Memory, Recalled, Standing

_WORD = re.compile(r"\w+")
_PAGE = 200


class Recall(list[Recalled]):
    """The hits of a recall, best first, and how many were withheld for which reason."""

    def __init__(self, hits: Iterable[Recalled] = (), withheld: Mapping[str, int] | None = None) -> None:
        super().__init__(hits)
        self.withheld: dict[str, int] = dict(withheld or {})


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: the words and the limits of the answer."""

    text: str
    k: int
    now: datetime
    influence_only: bool = False
    min_score: float = 0.0
    half_life_days: float = 0.0
    as_of: datetime | None = None


class Recaller:
    """Answers queries from one keep."""

    def __init__(self, ledger: Ledger, reader: Reader, settings: Settings) -> None:
        self._ledger = ledger
        self._reader = reader
        self._settings = settings

    def answer(self, query: Query) -> Recall:
        """The best k memories under the flood cap; ``influence_only`` filters before ranking is cut, not after."""
        withheld: Counter[str] = Counter()
        hits: list[Recalled] = []
        flood = _FloodCap(query.k, self._settings.flood_share)
        for score, shown in self._proposals(query):
            reason = _withheld(query, score, shown) or flood.admit(shown)
            if reason:
                withheld[reason] += 1
                continue
            hits.append(_recalled(score, shown))
            if len(hits) >= query.k:
                break
        return Recall(hits, withheld)

    def _proposals(self, query: Query) -> Iterator[tuple[float, Shown]]:
        words = list(dict.fromkeys(_WORD.findall(query.text.casefold())))
        offset = 0
        while True:
            with self._ledger.reading():
                found = self._ledger.match(words, _PAGE, offset)
                rows = self._ledger.at("memories", [seq for seq, _ in found])
            memories = [(score, memory_from(rows[seq])) for seq, score in found if seq in rows]
            page = [
                (_score(score, memory, query), self._reader.shown(memory, query.now))
                for score, memory in memories
                if query.as_of is None or memory.as_of <= query.as_of
            ]
            yield from sorted(page, key=lambda hit: -hit[0])
            if len(found) < _PAGE:
                return
            offset += _PAGE


class _FloodCap:
    """Hearsay and blocked entries take at most their share of k, whatever their number."""

    def __init__(self, k: int, share: float) -> None:
        self._left = int(k * share)

    def admit(self, shown: Shown) -> str | None:
        if shown.may_act or (shown.memory.standing is not Standing.HEARSAY and not shown.blocked):
            return None
        if self._left <= 0:
            return "flood_cap"
        self._left -= 1
        return None


def _withheld(query: Query, score: float, shown: Shown) -> str | None:
    if is_expired(shown.memory, query.now):
        return "expired"
    if query.influence_only and not shown.may_act:
        return "blocked" if shown.blocked else "may_not_act"
    return "below_min_score" if score < query.min_score else None


def _score(keyword_score: float, memory: Memory, query: Query) -> float:
    score = keyword_score / (1.0 + keyword_score)
    if query.half_life_days > 0:
        age = max(0.0, (query.now - memory.as_of).total_seconds() / 86_400)
        score *= 0.5 ** (age / query.half_life_days)
    return score


def _recalled(score: float, shown: Shown) -> Recalled:
    memory = shown.memory
    if shown.blocked:
        memory = replace(memory, text=shown.text, topics=(), entities=(), metadata={})
    return Recalled(shown.text, round(score, 6), shown.may_act, shown.why, shown.blocked, memory.as_of, memory)
