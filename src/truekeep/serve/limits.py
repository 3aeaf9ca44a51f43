"""Rate limits: a bucket for each token that fills at a steady rate, and forgets who has not called for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from truekeep.errors import ServiceBusy

_MOST = 50_000
"""Callers that are counted; whoever has been silent longest is forgotten first."""


class Buckets:
    """One bucket a caller. Used from the event loop only, so it needs no lock."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = max(1.0, float(burst))
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request of a caller; refuse it when the caller's bucket is empty."""
        if self._rate <= 0:
            return
        now = self._clock()
        left, since = self._buckets.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._buckets[caller] = (max(0.0, left - 1.0) if left >= 1.0 else left, now)
        while len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        if left < 1.0:
            raise ServiceBusy("Too many requests for this token.", code="rate_limited", hint="Slow down, then retry.")
