"""Scan at once, be fast later: the portable prefilter serves until the database has been compiled beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from truekeep.rules.prefilter import Prefilter


class WarmingPrefilter:
    """One prefilter now, a faster one as soon as it is ready. Both give the same answers, so nobody can tell when."""

    def __init__(self, now: Prefilter, later: Callable[[], Prefilter]) -> None:
        self._current = now
        self._later = later
        # A daemon, so that a short command need not wait for what only a long-lived process profits from.
        self._thread = threading.Thread(target=self._prepare, name="truekeep-rules", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """The prefilter in use at this moment."""
        return self._current.name

    def candidates(self, text: str) -> Collection[int]:
        """The numbers of the patterns that could match ``text``."""
        return self._current.candidates(text)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the faster one is in use; false if it is not yet."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _prepare(self) -> None:
        self._current = self._later()
