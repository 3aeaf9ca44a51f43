"""One measured figure: what was counted, of how many, with its interval; and whoever is told how it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from truekeep.errors import TruekeepError

US = "truekeep"
_Z = 1.96

Progress = Callable[[str, int, int], None]
"""Told what is being done, and how much of how much is."""


class CannotRun(TruekeepError):
    """A step that cannot be run here; its rows are left out with this reason."""

    code = "step_unavailable"
    default_hint = "The other steps are measured without it."


def silent(what: str, done: int, total: int) -> None:
    """The progress of somebody who is not looking."""


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Between which shares the true one lies (Wilson); nothing is known of an empty group."""
    if not total:
        return 0.0, 1.0
    share = hits / total
    middle = (share + _Z * _Z / (2 * total)) / (1 + _Z * _Z / total)
    half = _Z * math.sqrt(share * (1 - share) / total + _Z * _Z / (4 * total * total)) / (1 + _Z * _Z / total)
    return max(0.0, middle - half), min(1.0, middle + half)


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


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """What was not stored: rejected, which loses it, and held, which a person can look at; of how many."""

    rejected: int = 0
    held: int = 0
    total: int = 0

    @property
    def rate(self) -> Rate:
        """Both together, as a share."""
        return Rate(self.rejected + self.held, self.total)

    def __add__(self, other: TurnedDown) -> TurnedDown:
        return TurnedDown(self.rejected + other.rejected, self.held + other.held, self.total + other.total)

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON members."""
        return {**self.rate.as_dict(), "rejected": self.rejected, "held": self.held}

    def __str__(self) -> str:
        return f"{self.rejected:,} rejected and {self.held:,} held of {self.total:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """Whatever a red-team run measures comes as rows like this; reports and thresholds know nothing else."""

    part: str
    """Which measurement: ``retrieval``, ``influence``, ``search``, ``agent``, ``yardstick`` or ``screen``."""
    metric: str
    """What was counted, such as ``rank1``, ``acting`` or ``utility``."""
    hits: int
    total: int
    defence: str = US
    encoder: str = ""
    size: int = 0
    """How many memories the store held before; 0 where it does not matter."""
    attack: str = ""
    note: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What else is worth knowing, as JSON members."""

    @property
    def rate(self) -> Rate:
        """The count as a share with its interval."""
        return Rate(self.hits, self.total)

    @property
    def share(self) -> float:
        """The share; of nothing it is none."""
        return self.rate.share

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON members."""
        low, high = self.rate.interval
        figures = {"share": round(self.share, 6), "low": round(low, 6), "high": round(high, 6)}
        return {**asdict(self), "detail": dict(self.detail), **figures}

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> ResultRow:
        """The row that was written as these members."""
        return cls(**{name: members[name] for name in cls.__slots__ if name in members})
