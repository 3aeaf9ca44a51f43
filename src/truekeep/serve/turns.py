"""Turns: who is worked for next. A fair queue, so that nobody's requests wait behind all of somebody else's.

A request takes a turn before anything is done for it and gives it back when its answer begins. There are as many turns
as threads, and one token (without one: one peer) has only a few of them at a time. When turns are short, the next one
goes to whoever has been worked for least: the time that turns were held counts, not how many there were, so that few
expensive requests weigh as much as many cheap ones (start-time fair queueing; Goyal, Vin and Cheng 1996).

A thread that has begun cannot be held back, and every busy one takes the interpreter from the others. So while others
are about, whoever has been worked for most has two turns at a time: an MCP call whose answer is a stream keeps one, and
what the client sends meanwhile, such as a person's answer to it, needs another. And between two steps of their work
(``text/view.py``) these two pause while a fresh request of anybody else is worked on.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from truekeep.text.view import GIVE_WAY

_MOST_LINES = 10_000
"""Callers whose past work is remembered; idle ones are forgotten first, and begin anew like everybody."""
_HEAVIEST = 2
"""Turns at a time of whoever has been worked for most, while others are about."""
_COMPANY_SECONDS = 10.0
"""Whoever came this long ago is about, and may come again."""
_HALF_SECONDS = 5.0
"""After so long, work weighs half."""
_FRESH_SECONDS = 0.25
"""For how long a turn has those pause who were worked for most; most recalls are answered by then on a busy machine."""
_MOST_PAUSED = 3.0
"""Seconds for which one request pauses in all, however many others come meanwhile."""


@dataclass(eq=False, slots=True)
class _Line:
    """One caller's requests."""

    spent: float
    """Seconds for which the caller was worked for, counted from where the queue stood when it first came."""
    came: float = 0.0
    """When it last took a turn."""
    worked: float = 0.0
    ended: float = 0.0
    """Seconds for which it was worked for of late, as they weighed when its last turn ended."""
    running: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def weight(self, now: float) -> float:
        """What it was worked for of late. ``spent`` would not tell: whoever comes anew begins where the others are."""
        return self.worked * math.pow(0.5, (now - self.ended) / _HALF_SECONDS)


class Turns:
    """The turns of one worker. Used from the event loop only, so it needs no lock."""

    def __init__(self, places: int, share: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._free = max(1, places)
        self._share = max(1, share)
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._waiting: dict[_Line, None] = {}
        self._now = 0.0
        """How far the queue has come: what whoever was served last had spent by then."""
        self._heaviest: _Line | None = None
        """Whoever has been worked for most of those who are about."""
        self._company = float("-inf")
        """When anybody else last came."""
        self._places = self._free
        self._others_are_done = threading.Event()
        """Set while no turn is under way but the heaviest caller's: threads wait for it."""
        self._others_are_done.set()
        self._others_began = float("-inf")

    def turn(self, who: str) -> Turn:
        """A turn of this caller's, not taken yet."""
        return Turn(self, self._line(who))

    def _line(self, who: str) -> _Line:
        line = self._lines.get(who)
        if line is None:
            if len(self._lines) >= _MOST_LINES:
                self._lines = {name: one for name, one in self._lines.items() if one.running or one.waiting}
            line = self._lines[who] = _Line(self._now)
        return line

    async def _take(self, line: _Line) -> float:
        if not line.running and not line.waiting:
            line.spent = max(line.spent, self._now)  # a quiet time saves nothing up
        line.came = self._clock()
        self._weigh(line, line.came)
        place = asyncio.get_running_loop().create_future()
        line.waiting.append(place)
        self._waiting[line] = None
        self._hand_out()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._give_back(line, 0.0)
            raise
        return self._clock()

    def _give_back(self, line: _Line, seconds: float) -> None:
        self._free += 1
        line.running -= 1
        line.spent += seconds
        now = self._clock()
        line.worked, line.ended = line.weight(now) + seconds, now
        self._weigh(line, now)
        self._hand_out()
        self._note_others()

    def _weigh(self, line: _Line, now: float) -> None:
        """Note who is heaviest, by whoever comes and goes; one that is long away is not."""
        known = self._heaviest
        if known is None or known.came < now - _COMPANY_SECONDS or known.weight(now) < line.weight(now):
            known, self._heaviest = line, line
        if known is not line:
            self._company = now

    def _share_of(self, line: _Line) -> int:
        is_alone = self._clock() - self._company > _COMPANY_SECONDS
        return min(_HEAVIEST, self._share) if line is self._heaviest and not is_alone else self._share

    def _note_others(self) -> None:
        heaviest = self._heaviest.running if self._heaviest is not None else 0
        if self._places - self._free > heaviest:
            self._others_are_done.clear()
        else:
            self._others_are_done.set()

    def pause(self, line: _Line, most: float) -> float:
        """In a thread that works for this caller: wait while others are worked on, and tell for how long it was."""
        began = self._clock()
        left = min(most, self._others_began + _FRESH_SECONDS - began)
        if line is not self._heaviest or left <= 0 or self._others_are_done.is_set():
            return 0.0
        self._others_are_done.wait(left)
        return self._clock() - began

    def _hand_out(self) -> None:
        while self._free:
            able = [line for line in self._waiting if line.running < self._share_of(line)]
            if not able:
                return
            line = min(able, key=lambda one: one.spent)
            place = line.waiting.popleft()
            if not line.waiting:
                self._waiting.pop(line, None)
            if place.cancelled():
                continue
            self._now = max(self._now, line.spent)
            self._free -= 1
            line.running += 1
            if line is not self._heaviest:
                self._others_began = self._clock()
            self._note_others()
            place.set_result(None)


class Turn:
    """One request's turn."""

    def __init__(self, turns: Turns, line: _Line) -> None:
        self._turns = turns
        self._line = line
        self._since: float | None = None
        self._at_work = 0
        self._is_over = False
        self._may_pause = _MOST_PAUSED
        self._loops = threading.get_ident()

    async def take(self) -> None:
        """Wait for it."""
        self._since = await self._turns._take(self._line)
        GIVE_WAY.set(self.give_way)

    def give_way(self) -> None:
        """Between two steps of work under it: let others go first. The event loop itself never waits."""
        if self._may_pause > 0 and threading.get_ident() != self._loops:
            self._may_pause -= self._turns.pause(self._line, self._may_pause)

    def give_back(self) -> None:
        """Let the next one have it, as soon as nobody works under it. Given back twice is given back once."""
        self._is_over = True
        if self._since is not None and not self._at_work:
            seconds, self._since = self._turns._clock() - self._since, None
            self._turns._give_back(self._line, seconds)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Work under it; what goes on after its request has ended, because the client left, takes it again."""
        is_anew = self._since is None
        if is_anew:
            await self.take()
        GIVE_WAY.set(self.give_way)
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1
            if is_anew or self._is_over:
                self.give_back()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """While the block waits for a person, somebody else's turn."""
        was_over = self._is_over
        self.give_back()
        try:
            yield
        finally:
            self._is_over = was_over
            if not was_over and self._since is None:
                await self.take()
