"""Keeps to be measured, in files or in PostgreSQL: made, filled, opened and asked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.postgres.server import Database

from truekeep import Keep
from truekeep.config import Settings

TEXT = "The team lead in town {} prefers meetings on Tuesday mornings and dislikes calls after four."
QUESTION = "When does the team lead in town 77 like to meet?"


@contextmanager
def keep_in(root: Path, database: Database | None, name: str) -> Iterator[Keep]:
    """A keep in the database, or in a file if there is none."""
    settings = replace(Settings(), embedder="none", store=database.dsn if database else "")
    home = root / ("stored" if database else "files")
    with Keep.open(name, home=home, settings=settings, background=False) as keep:
        yield keep


def filled(root: Path, database: Database | None, name: str, count: int) -> None:
    """Make a keep with so many memories."""
    with keep_in(root, database, name) as keep:
        for first in range(0, count, 1_000):
            entries = [TEXT.format(number) for number in range(first, min(count, first + 1_000))]
            keep.remember_many(entries, via="user")


@dataclass(frozen=True)
class Times:
    """Milliseconds of several openings."""

    wall: list[float]
    cpu: list[float]


def times(root: Path, database: Database | None, names: list[str]) -> Times:
    """Open these keeps, one after another."""
    found = [opened(root, database, name) for name in names]
    return Times([wall for wall, _ in found], [cpu for _, cpu in found])


def opened(root: Path, database: Database | None, name: str) -> tuple[float, float]:
    """Open a keep and ask it something; milliseconds by the wall, and of this process's CPU."""
    began, used = time.perf_counter(), time.process_time()
    with keep_in(root, database, name) as keep:
        keep.recall(QUESTION)
    return (time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3
