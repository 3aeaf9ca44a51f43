"""How long a body may take. The time in which the service itself holds its sender back does not count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ARRIVAL = "truekeep.arrival"
"""Where a request's scope has its arrival."""


class Arrival:
    """The clock of one request's body. Used from the event loop only."""

    def __init__(self) -> None:
        self._timeout: asyncio.Timeout | None = None
        self._left = 0.0
        self._is_held = False

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """Wait for it no longer than this; raises ``TimeoutError``."""
        self._left = seconds
        try:
            async with asyncio.timeout(None if self._is_held else seconds) as self._timeout:
                yield
        finally:
            self._timeout = None

    def hold(self) -> None:
        """Its sender is held back from now on."""
        if not self._is_held and self._timeout is not None and (end := self._timeout.when()) is not None:
            self._left = end - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)
        self._is_held = True

    def go_on(self) -> None:
        """Its sender may go on, and has as much time as before."""
        if self._is_held and self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
        self._is_held = False
