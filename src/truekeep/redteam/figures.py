"""One measured figure: what was counted, of how many, on which defence and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from truekeep.redteam.influence.outcome import Rate

US = "truekeep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
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
    def from_dict(cls, members: Mapping[str, Any]) -> Row:
        """The row that was written as these members."""
        return cls(**{name: members[name] for name in cls.__slots__ if name in members})
