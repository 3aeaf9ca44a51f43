"""Scan at once, be fast later: the portable prefilter serves until the database has been compiled beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

from truekeep.rules.prefilter import Prefilter

WORTH_PREPARING = 200
"""Scans after which a process is taken for a long-lived one; a short command would only waste the work."""


class WarmingPrefilter:
    """One prefilter now, a faster one as soon as it is ready. Both give the same answers, so nobody can tell when."""

    def __init__(self, now: Prefilter, later: Callable[[], Prefilter]) -> None:
        self._current = now
        self._later = later
        self._scans = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def name(self) -> str:
        """The prefilter in use at this moment."""
        return self._current.name

    @property
    def far(self) -> Sequence[int]:
        """The numbers of the patterns that have to see a whole text, however long it is."""
        return self._current.far

    def candidates(self, text: str) -> Collection[int]:
        """The numbers of the patterns that could match ``text``."""
        if self._thread is None:
            self._scans += 1
            if self._scans >= WORTH_PREPARING:
                self._start()
        return self._current.candidates(text)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the faster one is in use; false if it is not yet."""
        thread = self._start()
        thread.join(seconds)
        return not thread.is_alive()

    def _start(self) -> threading.Thread:
        with self._starting:
            if self._thread is None:
                # A daemon, so that nobody has to wait for it at the end.
                self._thread = threading.Thread(target=self._prepare, name="truekeep-rules", daemon=True)
                self._thread.start()
            return self._thread

    def _prepare(self) -> None:
        self._current = self._later()
