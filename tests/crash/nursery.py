"""Processes to be killed: forked from one that has imported and loaded everything, which is most of what one costs."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

from truekeep import Settings

SETTINGS = Settings(embedder="none", busy_seconds=10.0)
NAME = "alice"


def context() -> ForkServerContext:
    """Where processes are started; each begins as a copy of one that has used a keep before."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["tests.crash.grown_up"])
    return found
