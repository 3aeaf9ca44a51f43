"""A worker: one background thread that does what is due, sleeps until something is, and ends with its owner."""

from __future__ import annotations

import logging
import threading
import weakref
from typing import Protocol

from truekeep.errors import KeepClosed

_log = logging.getLogger("truekeep.extract.worker")
_LONGEST_SLEEP = 5.0
"""Seconds after which it looks again: another process may have queued something."""


class Works(Protocol):
    """What the thread works for."""

    def work(self) -> float | None:
        """Do what is due; returns the seconds until something is, or nothing when nothing waits."""


class Worker:
    """The thread. It keeps its owner alive only while it works for it."""

    def __init__(self, owner: Works) -> None:
        self._wake = threading.Event()
        self._over = threading.Event()
        reference = weakref.ref(owner, lambda _: self._wake.set())
        self._thread = threading.Thread(
            target=_loop, args=(reference, self._wake, self._over), name="truekeep-extract", daemon=True
        )
        self._thread.start()

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    def stop(self) -> None:
        """Take nothing on any more. What is being done ends by itself, or is refused by the closed keep."""
        self._over.set()
        self._wake.set()

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end; whether it did. The thread itself does not wait for itself."""
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()


def _loop(owner: weakref.ref[Works], wake: threading.Event, over: threading.Event) -> None:
    while not over.is_set():
        wake.clear()
        try:
            pause = _round(owner)
        except KeepClosed:
            return
        except Exception as error:
            # A store that is busy or full today may not be tomorrow; what was queued is still there.
            _log.warning("background work failed", extra={"error": type(error).__name__})
            pause = _LONGEST_SLEEP
        if pause is None:
            return
        if not over.is_set():
            wake.wait(pause)


def _round(owner: weakref.ref[Works]) -> float | None:
    works = owner()
    if works is None:
        return None
    pause = works.work()
    return _LONGEST_SLEEP if pause is None else min(max(pause, 0.0), _LONGEST_SLEEP)
