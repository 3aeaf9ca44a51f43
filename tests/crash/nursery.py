"""Processes to be killed: forked from one that has imported and loaded everything, which is most of what one costs."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from multiprocessing.context import ForkServerContext
from pathlib import Path

from truekeep import Settings

SETTINGS = Settings(embedder="none", busy_seconds=10.0)
NAME = "alice"


def settings_of(home: Path) -> Settings:
    """The settings of a home; its keep is in a database if a file beside it says so."""
    store = home.with_name(f"{home.name}.store")
    return replace(SETTINGS, store=store.read_text()) if store.exists() else SETTINGS


def context() -> ForkServerContext:
    """Where processes are started; each begins as a copy of one that has used a keep before."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["tests.crash.grown_up"])
    return found
