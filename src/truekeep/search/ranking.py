"""Turns signals into hits: the best first, unrelated ones left out, duplicates folded into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from truekeep.search.fusion import SIGNALS, Signals, Weights

if TYPE_CHECKING:
    from truekeep.search.signals import Floats, Measured, SignalView

Places = NDArray[np.int64]
_SPARE = 64
"""Hits looked at beyond k at first, for duplicates to be folded into."""
_WIDEN = 8


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that answers, how well from 0 to 1, and why."""

    seq: int
    score: float
    duplicates: tuple[int, ...] = ()
    """Places of other memories that say the same in the same words."""
    explain: Mapping[str, float] = field(default_factory=dict)
    """What each signal added to the sum behind the score, largest first; only if asked for."""
    closeness: float = field(default=0.0, compare=False)
    """How near its nearest window is to the question, as a cosine."""
    window: int = field(default=0, compare=False)
    """Which of its windows is nearest."""
    part: Floats | None = field(default=None, compare=False, repr=False)
    """The vector of that window."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one search measured, and how it is weighed."""

    measured: Measured
    weights: Weights
    compares: bool = False
    """Whether hits carry the vectors of their nearest windows, to be compared with each other."""

    @property
    def view(self) -> SignalView:
        """The rows in sight."""
        return self.measured.view

    @property
    def signals(self) -> Signals:
        """The signals of the rows in sight."""
        return self.measured.signals

    def hits(self, k: int, *, prefer: NDArray[np.int64] | None, floor: float, explain: bool) -> list[Hit]:
        """The best ``k``, best first."""
        totals = self.weights.total(self.signals)
        places = self._related(totals, floor) if floor else np.arange(len(totals))
        window = k + _SPARE
        while True:
            ranked, sums = self._sorted(totals, _largest(totals, places, window))
            groups = self._folded(ranked)
            # A flood of copies must not crowd out the rest of the answer, so the window widens behind it.
            if len(groups) >= k or window >= len(places):
                break
            window *= _WIDEN
        return [self._hit(group, sums, prefer, explain) for group in groups[:k]]

    def _related(self, totals: Floats, floor: float) -> Places:
        if self.weights.evidence(self.signals).max() < floor * self.weights.gate:
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(totals >= floor * self.weights.floor)

    def _sorted(self, totals: Floats, places: Places) -> tuple[Places, dict[int, float]]:
        sums = totals[places]
        if "meaning" in self.signals:
            sums = sums + self.measured.sharpened(places) * np.float32(self.weights.weights["meaning"])
        newest_first = -self.view.rows.column("seq")[self.view.chosen[places]]
        ranked = places[np.lexsort((newest_first, -sums))]
        return ranked, dict(zip(places.tolist(), sums.tolist(), strict=True))

    def _folded(self, ranked: Places) -> list[list[int]]:
        """Places grouped by who said what in which words, in the order of the best of each group."""
        rows = self.view.chosen[ranked]
        wordings = self.view.rows.column("wording")[rows].tolist()
        speakers = self.view.rows.column("speaker")[rows].tolist()
        groups: dict[tuple[int, int], list[int]] = {}
        for place, wording, speaker in zip(ranked.tolist(), wordings, speakers, strict=True):
            groups.setdefault((wording, speaker), []).append(place)
        return list(groups.values())

    def _hit(self, group: list[int], sums: dict[int, float], prefer: NDArray[np.int64] | None, explain: bool) -> Hit:
        places = self.view.rows.column("seq")[self.view.chosen[group]]
        shown = int(np.argmax(np.isin(places, prefer))) if prefer is not None and len(group) > 1 else 0
        seqs = places.tolist()
        others = (*seqs[:shown], *seqs[shown + 1 :])
        score = self.weights.relevance(sums[group[0]])
        window, closeness, part = self.measured.nearest(group[shown])
        return Hit(
            seqs[shown],
            score,
            others,
            self._explained(group[shown]) if explain else {},
            closeness,
            window,
            part if self.compares else None,
        )

    def _explained(self, place: int) -> dict[str, float]:
        known = [name for name in SIGNALS if name in self.signals]
        parts = {name: float(self.signals[name][place]) * self.weights.weights.get(name, 0.0) for name in known}
        said = {name: round(part, 3) for name, part in parts.items() if abs(part) >= 0.0005}
        return dict(sorted(said.items(), key=lambda part: -abs(part[1])))


def _largest(totals: Floats, places: Places, count: int) -> Places:
    """The places with the largest totals, in no order."""
    if len(places) <= count:
        return places
    return places[np.argpartition(totals[places], len(places) - count)[-count:]]
