"""Rounds: a thread that looks at all keeps of a home again and again, open ones often and all others little by little.

Of several processes one does a round; when it ends, the next takes it over. Where keeps are in a database, every
process looks at those that it has open, and a lease by the database's clock sees to it that no two look at one; whoever
has the lease of the round looks at all others.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from truekeep import disk
from truekeep.errors import TruekeepError
from truekeep.serve.logs import WARNING, log_event

if TYPE_CHECKING:
    from truekeep.serve.pool import Pool
    from truekeep.stores.postgres_service import SharedState

_OTHERS_A_ROUND = 8
"""Keeps that are opened only to be looked at, at a time: requests come first."""
_ALL_SECONDS = 3_600.0
"""How often every keep is looked at, also one that nobody has used."""
_LEASE_SECONDS = 120.0
"""For how long others leave alone what this process has begun; one that died is waited for so long."""


class Rounds:
    """The thread. What is done with a keep is ``look_at``; ``name`` tells one kind of round from another."""

    name = "rounds"

    def __init__(
        self,
        pool: Pool,
        every: float,
        *,
        shared: SharedState | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._every = every
        self._shared = shared
        self._clock = clock
        self._over = threading.Event()
        self._waiting: dict[str, None] = {}
        """Keeps that are closed and to be looked at, in order."""
        self._were_open: set[str] = set()
        self._all_due = 0.0
        self._lock_file: int | None = None
        self._thread: threading.Thread | None = None

    def look_at(self, name: str) -> None:
        """Do what is due with one keep."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin, unless somebody else is to do it."""
        if self._every > 0:
            self._thread = threading.Thread(target=self._loop, name=f"truekeep-{self.name}", daemon=True)
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
            self._looked_at(name)
        return len(due)

    def _looked_at(self, name: str) -> None:
        try:
            if self._shared is None or self._shared.lease_of_keep(self.name, name, _LEASE_SECONDS):
                self.look_at(name)
        except TruekeepError as error:
            log_event("chore.failed", WARNING, code=error.code)
        except Exception as error:
            log_event("chore.failed", WARNING, error=type(error).__name__)

    def _loop(self) -> None:
        while not self._over.wait(self._every):
            try:
                if self._shared is not None:
                    self.round(is_of_all=self._shared.lease(self.name, _LEASE_SECONDS))
                elif self._is_mine():
                    self.round()
            except TruekeepError as error:  # the database does not answer; the next round may
                log_event("chore.failed", WARNING, code=error.code)

    def _is_mine(self) -> bool:
        if self._lock_file is not None:
            return True
        path = self._pool.paths.data / f".{self.name}.lock"
        try:
            disk.make_directory(path.parent)
            self._lock_file = disk.try_lock(path)
        except OSError as error:
            log_event("chore.not_locked", WARNING, error=type(error).__name__)
        return self._lock_file is not None
