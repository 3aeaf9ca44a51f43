"""Limits: how often a caller may ask, and who takes up how many places of which there is a bounded number.

A bucket for each token fills at a steady rate, and forgets who has not called for a while.

Connections, open keeps, MCP sessions and visits are shared out in the same way: whoever has their share gives one of
their own back, and when all places are taken, whoever has most does; of theirs, what was used longest ago. So nobody
drives out what somebody with less is using.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

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


Thing = TypeVar("Thing", bound=Hashable)


class Shares(Generic[Thing]):
    """The places that each holder takes up, least recently used first. Not thread-safe by itself."""

    def __init__(self, most: int, each: int = 0) -> None:
        self.most = most
        self.each = each
        """How many one holder may have; 0 for no bound but the number of places."""
        self._holders: dict[Thing, str] = {}
        self._of: dict[str, OrderedDict[Thing, None]] = {}

    def __len__(self) -> int:
        return len(self._holders)

    def holder(self, thing: Thing) -> str | None:
        """Who has it."""
        return self._holders.get(thing)

    def use(self, holder: str, thing: Thing) -> None:
        """The holder has it, and uses it now."""
        self.drop(thing)
        self._holders[thing] = holder
        self._of.setdefault(holder, OrderedDict())[thing] = None

    def drop(self, thing: Thing) -> None:
        """Nobody has it any more."""
        holder = self._holders.pop(thing, None)
        if holder is not None:
            own = self._of[holder]
            del own[thing]
            if not own:
                del self._of[holder]

    def in_the_way(self, holder: str, is_free: Callable[[Thing], bool] = lambda _: True) -> Thing | None:
        """What has to give way before the holder may have one more: nothing while there is room.

        Only what ``is_free`` gives way. Where nothing is, the holder is refused.
        """
        own = self._of.get(holder, OrderedDict())
        if self.each and len(own) >= self.each:
            ranked = [own]
        elif len(self) < self.most:
            return None
        else:
            ranked = sorted(self._of.values(), key=len, reverse=True)
        for things in ranked:
            for thing in things:
                if is_free(thing):
                    return thing
        raise ServiceBusy("Every place is taken.", hint="Try again shortly.")
