"""Chores: the background work of all keeps of a home, picked up again after a restart.

What is due is written down in the keeps themselves. A restart therefore loses nothing: the round that looks at every
keep finds it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from truekeep.serve.rounds import Rounds

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.serve.pool import Pool
    from truekeep.stores.postgres_service import SharedState


def tidy(keep: Keep) -> None:
    """What is due in one keep: sessions to distil, sessions whose time is over, forgotten words to blank."""
    keep.extraction.run()
    keep.working.sweep()
    keep.blank_forgotten()


def merge(keep: Keep) -> None:
    """Merge what says the same."""
    keep.consolidate(by="service", reason="the daily round")


class Chores(Rounds):
    """The rounds in which keeps are tidied, and what says the same is merged."""

    name = "chores"

    def __init__(
        self,
        pool: Pool,
        every: float,
        *,
        merge_hours: float = 0.0,
        shared: SharedState | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(pool, every, shared=shared, clock=clock)
        self._merge_seconds = merge_hours * 3_600
        self._merged: dict[str, float] = {}

    def look_at(self, name: str) -> None:
        """Tidy one keep, and merge what it says twice if it is time to."""
        with self._pool.borrow(name) as keep:
            tidy(keep)
            if self._is_to_be_merged(name):
                merge(keep)

    def _is_to_be_merged(self, name: str) -> bool:
        """Once in so many hours; the first time after that long, so that a restart does not merge everything."""
        if self._merge_seconds <= 0:
            return False
        now = self._clock()
        if now - self._merged.setdefault(name, now) < self._merge_seconds:
            return False
        self._merged[name] = now
        return True
