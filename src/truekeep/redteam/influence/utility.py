"""What the gate costs honest people: how often a fact is found by plain recall, and how often among what may act."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from truekeep.keep import Keep
from truekeep.redteam.influence.arena import Arena
from truekeep.redteam.influence.benign import CORROBORATED, ECHOED, LONE, OWNER, READ, Fact
from truekeep.redteam.influence.outcome import Rate

GROUPS = {
    OWNER: "said by the owner, and by nobody else",
    CORROBORATED: "stated by two enrolled systems",
    ECHOED: "stated by two enrolled systems after a page had it",
    LONE: "stated by one enrolled system",
    READ: "merely read",
}
GATED = (OWNER, CORROBORATED)
"""The groups that have to be found behind the gate as often as without it."""
_K = 5


@dataclass(frozen=True, slots=True)
class Found:
    """How many questions about one group of facts were answered in the first five hits."""

    size: int
    group: str
    plain: int
    acting: int
    """With ``influence_only``."""
    total: int

    @property
    def plain_rate(self) -> Rate:
        """How often plain recall finds it."""
        return Rate(self.plain, self.total)

    @property
    def acting_rate(self) -> Rate:
        """How often it is found among what may act."""
        return Rate(self.acting, self.total)

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON members."""
        rates = {"plain": self.plain_rate, "influence_only": self.acting_rate}
        return {
            "size": self.size,
            "group": self.group,
            **{name: {"share": round(rate.share, 4), **rate.as_dict()} for name, rate in rates.items()},
        }


class Utility:
    """Asks honest questions of one or more honest keeps of a size, up to so many for each group."""

    def __init__(self, size: int, questions: int) -> None:
        self._size = size
        self._most = questions
        self._counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])

    @property
    def is_enough(self) -> bool:
        """Whether the groups that matter were asked about often enough."""
        return all(self._counts[group][2] >= self._most for group in GATED)

    def ask(self, arena: Arena) -> None:
        """Put every question of every fact, until there were enough about its group.

        By chance and not in the order of the store: what came in early has met less hearsay before it.
        """
        asked = random.Random(arena.size).sample(arena.facts, len(arena.facts))  # noqa: S311 - the same ones every time
        with arena.opened() as keep:
            for fact in asked:
                counts = self._counts[fact.group]
                for question in fact.questions[: max(0, self._most - counts[2])]:
                    counts[0] += _is_found(keep, fact, question, influence_only=False)
                    counts[1] += _is_found(keep, fact, question, influence_only=True)
                    counts[2] += 1

    def found(self) -> list[Found]:
        """The figures, group by group."""
        asked = {group: self._counts[group] for group in GROUPS if self._counts[group][2]}
        return [Found(self._size, group, *counts) for group, counts in asked.items()]


def _is_found(keep: Keep, fact: Fact, question: str, *, influence_only: bool) -> bool:
    hits = keep.recall(question, k=_K, influence_only=influence_only)
    return any(hit.text in fact.answers and (hit.may_act or not influence_only) for hit in hits)


def totals_of(found: Iterable[Found], group: str) -> tuple[int, int, int]:
    """Plain hits, acting hits and questions of one group over all sizes."""
    chosen = [one for one in found if one.group == group]
    return sum(one.plain for one in chosen), sum(one.acting for one in chosen), sum(one.total for one in chosen)
