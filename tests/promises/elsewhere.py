"""Other processes on the same keeps: each opens a keep that is open here as well, does one thing, and closes it."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path

from tests.promises.record import Outcome, PromiseBroken, attempt
from tests.promises.side import Side
from tests.promises.twins import Twins
from truekeep import Keep
from truekeep.config import Settings

_WAIT = 120.0
"""Seconds for one thing to be done."""


@dataclass(frozen=True)
class Elsewhere:
    """Another process writes, or deletes what this one wrote; this one goes on with what is there then."""

    channel: str
    text: str
    which: int
    deletes: bool = False

    def run(self, twins: Twins) -> None:
        via, pair = twins.world.channel(self.channel), twins.pick(self.which)
        if self.deletes and pair is None:
            return
        outcomes = twins.both(lambda side: self._on(side, via, getattr(pair, side.name) if pair else ""))
        twins.wrote(*outcomes, self)

    def _on(self, side: Side, via: str, memory_id: str) -> Outcome:
        what = memory_id if self.deletes else ""
        line = _hand()
        line.send((side.name_of_keep, side.home, side.settings, side.clock(), via, self.text, what))
        if not line.poll(_WAIT):
            raise TimeoutError("the other process does not answer")
        outcome: Outcome = line.recv()
        if self.deletes:
            return side.forgot(outcome, memory_id, via)
        if (outcome.memory_id or outcome.item_id) and not attempt(lambda: side.stored(outcome)).value:
            raise PromiseBroken(f"P8: what another process wrote over {via} is not there")
        return side.took(outcome, self.text, via, None, {}, extra=False)


@cache
def _hand() -> Connection:
    """The other process: it waits for tasks, and ends with this one."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    multiprocessing.get_context("spawn").Process(target=_work, args=(there,), daemon=True).start()
    return here


def _work(line: Connection) -> None:
    while True:
        try:
            task = line.recv()
        except EOFError:
            return
        line.send(_done(*task))


def _done(name: str, home: Path, settings: Settings, now: datetime, via: str, text: str, memory_id: str) -> Outcome:
    with Keep.open(name, home=home, settings=settings, clock=lambda: now, background=False) as keep:
        if memory_id:
            return attempt(lambda: keep.delete_memory(memory_id, via=via))
        return attempt(lambda: keep.remember(text, via=via))
