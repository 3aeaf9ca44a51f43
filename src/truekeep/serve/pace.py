"""Pace: how much of the event loop one caller takes up while others need it.

Turns share out what is worked on in threads. Before a turn, and for what takes none, work is done on the event loop:
reading headers, looking at tokens, refusing, routing, making MCP sessions. All of it delays everybody, so the CPU time
that the loop spends on a caller (a token; without one, a peer) is measured, in every task that its requests begin, and
owed. A caller's requests begin one in each round of the loop. While the caller owes more than a little and somebody
else was here of late, they wait until the debt is paid off by the clock at a fifth of real time, and while a request of
somebody who owes less is fresh and under way. Whoever waits costs nothing: no task, no thread, and no bytes that were
not read already. Who is alone has the whole loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any

SHARE = 1 / 5
"""Of the event loop, for one caller among others."""
ALLOWANCE = 0.01
"""Seconds that a caller may owe and still begin at once: some requests of a person who opens a page."""
_MOST_OWED = 0.5
"""One expensive request is paid off within a second or two."""
_COMPANY_SECONDS = 60.0
"""Whoever came this long ago may come again: what began meanwhile must not be in their way."""
_MOST_LANES = 10_000
"""Callers whose debt is remembered; those who owe nothing are forgotten first."""
_FRESH_SECONDS, _LOOK_AGAIN_SECONDS = 0.05, 0.002
"""For how long a request keeps those back who owe more; it is most often answered by then, and looked at so often."""
Begin = Callable[[], bool]
"""Begins something for a caller; tells whether there was anything left to begin."""


@dataclass(eq=False, slots=True)
class Lane:
    """One caller's debt, and what of theirs waits for it."""

    owed: float = 0.0
    since: float = 0.0
    running: int = 0
    begun: float = 0.0
    waiting: deque[Begin] = field(default_factory=deque)
    timer: asyncio.Handle | None = None

    def charge(self, seconds: float) -> None:
        """The loop has worked for the caller."""
        self.owed = min(self.owed + seconds, _MOST_OWED)


_LANE: ContextVar[Lane | None] = ContextVar("lane", default=None)


class LoopPace:
    """The lanes of one worker. Used from the event loop only, so it needs no lock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lanes: dict[str, Lane] = {}
        self._last: tuple[Lane | None, float] = (None, float("-inf"))
        self._before: tuple[Lane | None, float] = (None, float("-inf"))
        """Who came last, and when anybody else last did."""
        self._running: dict[Lane, None] = {}

    def lane(self, caller: str) -> Lane:
        """The lane of a caller."""
        lane = self._lanes.get(caller)
        if lane is None:
            if len(self._lanes) >= _MOST_LANES:
                self._forget()
            lane = self._lanes[caller] = Lane(since=self._clock())
        return lane

    def begin(self, lane: Lane, begin: Begin) -> None:
        """Begin something for a caller, now or when it is their time."""
        if lane is not self._last[0]:
            self._before = self._last
        self._last = (lane, self._clock())
        lane.waiting.append(begin)
        if lane.timer is None:
            self._go_on(lane)

    def began(self, lane: Lane) -> None:
        """A request of the caller is under way."""
        lane.running, lane.begun = lane.running + 1, self._clock()
        self._running[lane] = None

    def ended(self, lane: Lane) -> None:
        """A request of the caller is answered."""
        lane.running -= 1
        if not lane.running:
            self._running.pop(lane, None)

    def wait(self, lane: Lane) -> float:
        """Seconds until the caller may go on, or until it is to be looked at again."""
        now = self._clock()
        owed = self._owed(lane, now)
        _, seen = self._before if self._last[0] is lane else self._last
        if owed <= ALLOWANCE or now - seen > _COMPANY_SECONDS:
            return 0.0
        is_behind = any(now - one.begun < _FRESH_SECONDS and self._owed(one, now) < owed for one in self._running)
        return max((owed - ALLOWANCE) / SHARE, _LOOK_AGAIN_SECONDS if is_behind else 0.0)

    @staticmethod
    def _owed(lane: Lane, now: float) -> float:
        lane.owed, lane.since = max(0.0, lane.owed - (now - lane.since) * SHARE), now
        return lane.owed

    def _go_on(self, lane: Lane) -> None:
        """Begin the next one. The one after it is looked at when the loop has come round, and this one has cost."""
        lane.timer = None
        if not lane.waiting:
            return
        loop, seconds = asyncio.get_running_loop(), self.wait(lane)
        if seconds > 0:
            lane.timer = loop.call_later(seconds, self._go_on, lane)
            return
        try:
            while lane.waiting and not lane.waiting.popleft()():
                pass  # whoever left meanwhile costs no round
        finally:
            # One that fails must not leave those behind it waiting for a request that may never come.
            lane.timer = loop.call_soon(self._go_on, lane)

    def _forget(self) -> None:
        busy = {name: lane for name, lane in self._lanes.items() if lane.timer is not None or self.wait(lane)}
        self._lanes = busy


def charged_to(lane: Lane) -> Context:
    """A context in which every task is charged to a caller, and every task that it begins."""
    context = copy_context()
    context.run(_LANE.set, lane)
    return context


def task_factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
    """What the loop makes tasks with, so that none of a caller's goes unmeasured."""
    context: Context | None = options.get("context")
    lane = _LANE.get() if context is None else context.get(_LANE)
    return asyncio.Task(work if lane is None else _Measured(work, lane), loop=loop, **options)


class _Measured(Coroutine[Any, Any, Any]):
    """A coroutine whose every step is charged. CPU time of the loop's thread: waiting for other threads is no work."""

    def __init__(self, work: Coroutine[Any, Any, Any], lane: Lane) -> None:
        self._work = work
        self._lane = lane

    def send(self, value: Any) -> Any:
        """The next step."""
        began = time.thread_time()
        try:
            return self._work.send(value)
        finally:
            self._lane.charge(time.thread_time() - began)

    def throw(self, *error: Any) -> Any:
        """The next step, with what went wrong."""
        began = time.thread_time()
        try:
            return self._work.throw(*error)
        finally:
            self._lane.charge(time.thread_time() - began)

    def close(self) -> None:
        """Give it up."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._work.__await__())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)  # what asyncio and anyio look at to tell a coroutine's state
