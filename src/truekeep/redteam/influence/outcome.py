"""What an attack got, of how much; and all attacks together, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from truekeep.redteam.wilson import wilson


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack got. It is true when the attack was played and got nothing."""

    attack: str
    group: str
    size: int
    acting: tuple[str, ...] = ()
    """Planted texts that may act in the end."""
    planted: int = 0
    """How many planted texts are stored in the end, whatever they may do."""
    displaced: tuple[str, ...] = ()
    """True texts that no longer act, or no longer come up for their question."""
    watched: int = 0
    """How many true texts acted before, or were said during the attack."""
    allowed: tuple[str, ...] = ()
    """Calls that went through, and steps that must never."""
    tried: int = 0
    blocked: tuple[str, ...] = ()
    """Honest calls that went through before and do not any more."""
    asked: int = 0
    """How many honest calls went through before."""
    turned_down: int = 0
    """How many of the attacker's steps and writes were refused or held."""
    lacking: tuple[str, ...] = ()
    """Operations of the attack that the target does not have."""
    unsound: str = ""
    """Why the attack could not be played; then it proves nothing."""

    def __bool__(self) -> bool:
        return not (self.acting or self.displaced or self.allowed or self.blocked or self.unsound)

    def as_dict(self) -> dict[str, Any]:
        """The outcome as JSON members."""
        return {
            "attack": self.attack,
            "group": self.group,
            "size": self.size,
            "held": bool(self),
            "acting": list(self.acting),
            "planted": self.planted,
            "displaced": list(self.displaced),
            "watched": self.watched,
            "allowed": list(self.allowed),
            "tried": self.tried,
            "blocked": list(self.blocked),
            "asked": self.asked,
            "turned_down": self.turned_down,
            "lacking": list(self.lacking),
            "unsound": self.unsound,
        }


@dataclass(frozen=True, slots=True)
class Rate:
    """So many of so many, with the 95 % interval of the share."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        """The share itself; of nothing it is none."""
        return self.hits / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return wilson(self.hits, self.total)

    def as_dict(self) -> dict[str, Any]:
        """The rate as JSON members."""
        low, high = self.interval
        return {"count": self.hits, "of": self.total, "low": round(low, 4), "high": round(high, 4)}

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.hits:,} of {self.total:,} ({100 * low:.1f} - {100 * high:.1f} %)"


def totals(outcomes: Iterable[Outcome]) -> dict[str, Rate]:
    """How much all attacks together got.

    ``acting`` counts attacks and not texts: the copies of one attack stand or fall together, and an interval over them
    would claim more than was seen.
    """
    played = [one for one in outcomes if not one.unsound]
    planting = [one for one in played if one.planted or one.acting]
    return {
        "won": Rate(sum(not one for one in played), len(played)),
        "acting": Rate(sum(bool(one.acting) for one in planting), len(planting)),
        "displaced": Rate(sum(len(one.displaced) for one in played), sum(one.watched for one in played)),
        "allowed": Rate(sum(len(one.allowed) for one in played), sum(one.tried for one in played)),
        "blocked": Rate(sum(len(one.blocked) for one in played), sum(one.asked for one in played)),
    }
