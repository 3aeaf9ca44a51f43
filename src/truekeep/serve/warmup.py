"""Warming up: the rules are loaded beside the first requests, and until then the service says that it is not ready."""

from __future__ import annotations

import threading
from collections.abc import Callable

from truekeep.config import Paths
from truekeep.errors import TruekeepError
from truekeep.serve.logs import ERROR, log_event
from truekeep.types import Standing


class Warmup:
    """Loads what the first write would wait for. A request that comes earlier waits for it as well, and is screened."""

    def __init__(self, paths: Paths, then: Callable[[], None] = lambda: None) -> None:
        self._paths = paths
        self._then = then
        self._done = threading.Event()

    @property
    def is_done(self) -> bool:
        """Whether a text can be screened at once."""
        return self._done.is_set()

    def start(self) -> None:
        """Begin, in a thread that nobody has to wait for."""
        threading.Thread(target=self.run, name="truekeep-warmup", daemon=True).start()

    def run(self) -> None:
        """Screen one text with the rules in force; rules that cannot be loaded leave the service not ready."""
        from truekeep.screens.standard import panel  # noqa: PLC0415 - the rule engine is heavy

        try:
            panel("strict", self._paths).examine({"text": "The service is starting."}, Standing.OWNER)
        except TruekeepError as error:
            log_event("rules.failed", ERROR, code=error.code)
            return
        self._then()
        self._done.set()
