"""Chores: the background work of all keeps of a home, by one thread of one process, and picked up after a restart.

What is due is written down in the keeps themselves. A restart therefore loses nothing: the round that looks at every
keep finds it again. Keeps that are open are looked at every few seconds, all others little by little.

Where keeps are in a database, every process looks at those that it has open, and a lease by the database's clock sees
to it that no two look at one; whoever has the lease of the round looks at all others.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep import disk
from truekeep.errors import TruekeepError
from truekeep.serve.logs import WARNING, log_event

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.serve.pool import Pool
    from truekeep.stores.postgres_service import SharedState

_OTHERS_A_ROUND = 8
"""Keeps that are opened only for their chores, at a time: requests come first."""
_ALL_SECONDS = 3_600.0
"""How often every keep is looked at, also one that nobody has used."""
_LEASE_SECONDS = 120.0
"""For how long others leave alone what this process has begun; one that died is waited for so long."""
_ROUND = "chores"


def tidy(keep: Keep) -> None:
    """What is due in one keep: sessions to distil, sessions whose time is over, forgotten words to blank."""
    keep.extraction.run()
    keep.working.sweep()
    keep.blank_forgotten()


def merge(keep: Keep) -> None:
    """Merge what says the same."""
    keep.consolidate(by="service", reason="the daily round")


class Chores:
    """The thread. Of several workers one does the chores; when it ends, the next takes them over."""

    def __init__(
        self,
        pool: Pool,
        every: float,
        *,
        merge_hours: float = 0.0,
        shared: SharedState | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._every = every
        self._merge_seconds = merge_hours * 3_600
        self._shared = shared
        self._clock = clock
        self._merged: dict[str, float] = {}
        self._over = threading.Event()
        self._waiting: dict[str, None] = {}
        """Keeps that are closed and to be looked at, in order."""
        self._were_open: set[str] = set()
        self._all_due = 0.0
        self._lock_file: int | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, unless somebody else is to do it."""
        if self._every > 0:
            self._thread = threading.Thread(target=self._loop, name="truekeep-chores", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after what is being done now."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(10.0)
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None
        if self._shared is not None:
            with suppress(TruekeepError):  # else they end by themselves
                self._shared.end_leases()

    def round(self, *, is_of_all: bool = True) -> int:
        """Look at every open keep and at a few of the others; how many were looked at."""
        open_now = self._pool.open_names()
        if is_of_all and self._clock() >= self._all_due:
            self._all_due = self._clock() + _ALL_SECONDS
            self._waiting |= dict.fromkeys(self._pool.names())
            if self._shared is not None:
                self._shared.drop_answers()
        # One that was closed to make room may have something that was not due yet.
        self._waiting |= dict.fromkeys(self._were_open.difference(open_now))
        self._were_open = set(open_now)
        others = [name for name in self._waiting if name not in self._were_open][:_OTHERS_A_ROUND]
        due = [*open_now, *others]
        for name in due:
            self._waiting.pop(name, None)
        for name in due:
            if self._over.is_set():
                break
            self._look_at(name)
        return len(due)

    def _look_at(self, name: str) -> None:
        try:
            if self._shared is not None and not self._shared.lease_of_keep(_ROUND, name, _LEASE_SECONDS):
                return
            with self._pool.borrow(name) as keep:
                tidy(keep)
                if self._is_to_be_merged(name):
                    merge(keep)
        except TruekeepError as error:
            log_event("chore.failed", WARNING, code=error.code)
        except Exception as error:
            log_event("chore.failed", WARNING, error=type(error).__name__)

    def _is_to_be_merged(self, name: str) -> bool:
        """Once in so many hours; the first time after that long, so that a restart does not merge everything."""
        if self._merge_seconds <= 0:
            return False
        now = self._clock()
        if now - self._merged.setdefault(name, now) < self._merge_seconds:
            return False
        self._merged[name] = now
        return True

    def _loop(self) -> None:
        while not self._over.wait(self._every):
            try:
                if self._shared is not None:
                    self.round(is_of_all=self._shared.lease(_ROUND, _LEASE_SECONDS))
                elif self._is_mine():
                    self.round()
            except TruekeepError as error:  # the database does not answer; the next round may
                log_event("chore.failed", WARNING, code=error.code)

    def _is_mine(self) -> bool:
        if self._lock_file is not None:
            return True
        path: Path = self._pool.paths.data / ".chores.lock"
        try:
            disk.make_directory(path.parent)
            self._lock_file = disk.try_lock(path)
        except OSError as error:
            log_event("chore.not_locked", WARNING, error=type(error).__name__)
        return self._lock_file is not None
