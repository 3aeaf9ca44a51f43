"""The time in a keep: that of the machine, but never earlier than what has happened in it.

A clock that is set back would let an older statement outdate a newer one, bring back what has expired and put the audit
log out of order. Until the machine's clock has caught up, the time goes on from the newest event at its usual pace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from truekeep.types import utc_moment

_BEGINNING = datetime.min.replace(tzinfo=UTC)


class KeepClock:
    """Tells the moment when it is called; ``newest`` is the time of the newest event, or empty if there is none."""

    def __init__(
        self, machine: Callable[[], datetime], newest: Callable[[], str], ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self._machine = machine
        self._newest = newest
        self._ticks = ticks
        self._lock = threading.Lock()
        self._latest = _BEGINNING
        self._since = 0.0
        """When, in ticks, the latest moment was told."""

    def __call__(self) -> datetime:
        """The moment: never earlier than one that was told or written down before."""
        with self._lock:
            moment, ticks, newest = self._machine(), self._ticks(), self._newest()
            if moment < self._latest:
                moment = self._latest + timedelta(seconds=ticks - self._since)
            self._latest = max(moment, utc_moment(newest) if newest else _BEGINNING)
            self._since = ticks
            return self._latest
