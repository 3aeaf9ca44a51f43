"""Draining: a process that was told to stop says so first, and goes only when load balancers have turned elsewhere.

On SIGTERM it says that it is not ready, and asks with every answer that the connection be closed. It takes requests
for as long as the setting ``notice_seconds`` says, and then stops as the server under it does: nothing new is accepted,
what is under way is finished. SIGINT stops it without notice.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from truekeep.serve.logs import log_event


class Drain:
    """Whether this process is about to stop."""

    def __init__(self, notice_seconds: float) -> None:
        self._notice = notice_seconds
        self.is_on = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear of SIGTERM before the server does, which is told when the notice is over.

        Where signals are not this thread's, as in tests, nobody tells this process to stop.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop, server = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, lambda number, _: loop.call_soon_threadsafe(self._begin, loop, number, server))
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, server)

    def _begin(self, loop: asyncio.AbstractEventLoop, number: int, server: Any) -> None:
        # Told twice, as by a supervisor and by whoever ends a whole group, it is told once.
        if self.is_on:
            return
        self.is_on = True
        log_event("drain.began", notice=self._notice)
        stop: Callable[[], Any] = (lambda: server(number, None)) if callable(server) else (lambda: None)
        loop.call_later(self._notice, stop)
