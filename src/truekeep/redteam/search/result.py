"""What a search found: the cheapest break for each goal, or none within so many sequences; and the same as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from truekeep.redteam.row import US, Row
from truekeep.redteam.search.cost import Budget
from truekeep.redteam.search.sequence import Sequence
from truekeep.redteam.search.trial import GOALS
from truekeep.redteam.wilson import wilson

RANDOM, GUIDED = "random", "guided"
METHODS = (RANDOM, GUIDED)


@dataclass(frozen=True, slots=True)
class Found:
    """A sequence that broke the defence, made as small as it gets."""

    sequence: Sequence
    method: str
    number: int
    """Which sequence of the search it was made from."""
    got: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The find as JSON members."""
        cost = self.sequence.cost._asdict()
        members = {"method": self.method, "number": self.number, "got": list(self.got), "cost": cost}
        return {**self.sequence.as_dict(), **members}

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Found:
        """The find that was written as these members."""
        return cls(Sequence.from_dict(members), members["method"], members["number"], tuple(members["got"]))


@dataclass(slots=True)
class Result:
    """What was tried and found; a search goes on from it where it stopped."""

    budget: Budget
    seed: int
    played: dict[str, int] = field(default_factory=lambda: dict.fromkeys(METHODS, 0))
    """How many sequences each method played."""
    hits: dict[str, dict[str, int]] = field(default_factory=lambda: {one: dict.fromkeys(GOALS, 0) for one in METHODS})
    """How many of them reached each goal."""
    broke: dict[str, int] = field(default_factory=lambda: dict.fromkeys(METHODS, 0))
    """How many reached any."""
    found: dict[str, Found] = field(default_factory=dict)
    """By goal, the cheapest."""
    left_out: list[str] = field(default_factory=list)
    """Scenes, or parts of them, that could not be attacked, with the reason."""
    lacking: set[str] = field(default_factory=set)
    """Operations that the target does not have, so that they prove nothing."""
    most: tuple[int, int] = (0, 0)
    """The most records and principals that one played sequence spent."""
    seconds: float = 0.0
    archive: list[dict[str, Any]] = field(default_factory=list)
    """The sequences that the guided search changes, to go on with."""
    answers: list[str] = field(default_factory=list)
    """Every different answer that was seen of the target."""

    @property
    def sequences(self) -> int:
        """How many sequences were played."""
        return sum(self.played.values())

    @property
    def cheapest(self) -> Found | None:
        """The cheapest break of all."""
        return min(self.found.values(), key=lambda one: one.sequence.effort, default=None)

    @property
    def upper(self) -> float:
        """The upper bound of the share of sequences that break it, at 95 %."""
        return wilson(sum(self.broke.values()), self.sequences)[1]

    def __str__(self) -> str:
        best = self.cheapest
        if best is None:
            return f"none within {self.sequences:,} sequences (upper bound {100 * self.upper:.2f} %)"
        return f"broken with {best.sequence.cost}"

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON members."""
        plain = ("seed", "played", "hits", "broke", "left_out", "most", "seconds", "archive", "answers")
        return {
            "budget": self.budget.as_dict(),
            **{name: getattr(self, name) for name in plain},
            "lacking": sorted(self.lacking),
            "found": {goal: one.as_dict() for goal, one in self.found.items()},
        }

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Result:
        """The result that was written as these members."""
        own = dict(members) | {
            "budget": Budget(**members["budget"]),
            "found": {goal: Found.from_dict(one) for goal, one in members["found"].items()},
            "lacking": set(members["lacking"]),
            "most": (members["most"][0], members["most"][1]),
        }
        return cls(**own)


def rows(result: Result, *, defence: str = US, encoder: str = "", size: int = 0, note: str = "") -> list[Row]:
    """A row for each method and goal, and one for each method with any of them."""
    made = []
    for method in METHODS:
        counted = {**result.hits[method], "broken": result.broke[method]}
        for metric, hits in counted.items():
            best = result.cheapest if metric == "broken" else result.found.get(metric)
            made.append(
                Row(
                    part="search",
                    metric=metric,
                    hits=hits,
                    total=result.played[method],
                    defence=defence,
                    encoder=encoder,
                    size=size,
                    attack=method,
                    note=note,
                    detail=_detail(result, best),
                )
            )
    return made


def _detail(result: Result, best: Found | None) -> dict[str, Any]:
    records, principals = result.most
    return {
        "found": str(result) if best is None else str(best.sequence.cost),
        "cheapest": best.as_dict() if best else None,
        "budget": result.budget.as_dict(),
        "most_spent": {"records": records, "principals": principals},
        "seconds": round(result.seconds, 1),
        "left_out": list(result.left_out),
        "lacking": sorted(result.lacking),
    }
