"""What one operation costs the server and the network, and an open keep the process: what sizing is worked out from."""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from tests.postgres.proxy import Proxy
from tests.postgres.server import SERVICE, Database

from benchmarks.harness import Figure
from truekeep import Keep
from truekeep.config import Settings

TEXT = "The team lead in town {} prefers meetings on Tuesday mornings and dislikes calls after four."
PER_KEEP = 20
KEEPS = 200
"""Keeps that are held open at once, to see what one takes."""
_TICK = os.sysconf("SC_CLK_TCK")
_ROUNDS = 100


def costs(root: Path, database: Database) -> list[Figure]:
    """For a write, a hot recall and a cold opening; and memory for each open keep."""
    with tempfile.TemporaryDirectory(prefix="tk-bp-") as folder:
        proxy = Proxy(Path(folder), database.server.folder)
        try:
            dsn = database.server.dsn(database.name, SERVICE, host=proxy.folder)
            # In a process of its own, which has no memory to spare from what was done before.
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                held = process.submit(_memory, root, dsn).result()
            return [*_operations(root, database, proxy, dsn), held]
        finally:
            proxy.close()


def _operations(root: Path, database: Database, proxy: Proxy, dsn: str) -> list[Figure]:
    numbers = itertools.count()

    def opened(name: str) -> Keep:
        settings = replace(Settings(), embedder="none", store=dsn)
        return Keep.open(name, home=root / "stored", settings=settings, background=False)

    def cold() -> None:
        with opened("rested") as again:
            again.recall("When does the team lead in town 7 like to meet?")

    for name in ("counted", "rested"):
        with opened(name) as keep:
            keep.remember_many([TEXT.format(number) for number in range(PER_KEEP)], via="user")
    with opened("counted") as keep:
        what: dict[str, Callable[[], object]] = {
            "write": lambda: keep.remember(TEXT.format(f"new-{next(numbers)}"), via="user"),
            "hot recall": lambda: keep.recall("When does the team lead in town 7 like to meet?"),
        }
        figures = [one for name, do in what.items() for one in _counted(name, do, database, proxy)]
    return [*figures, *_counted("cold opening", cold, database, proxy)]


def _counted(name: str, do: Callable[[], object], database: Database, proxy: Proxy) -> list[Figure]:
    do()
    ((log,),) = database.run("SELECT pg_current_wal_insert_lsn()")
    passed, used = proxy.passed, server_seconds(database)
    for _ in range(_ROUNDS):
        do()
    ((written,),) = database.run(f"SELECT pg_current_wal_insert_lsn() - '{log}'")
    return [
        Figure(f"{name}: between the process and the server", (proxy.passed - passed) / _ROUNDS / 1024, "KB"),
        Figure(f"{name}: CPU of the server", (server_seconds(database) - used) / _ROUNDS * 1e3, "ms"),
        Figure(f"{name}: write-ahead log", float(written) / _ROUNDS / 1024, "KB"),
    ]


def server_seconds(database: Database) -> float:
    """CPU of all processes of the server, those that have ended among them."""
    parent = int((database.server.folder / "data" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    # The postmaster's own figures are followed by those of the children that it has seen the end of.
    ticks = _ticks(parent, 4) + sum(_ticks(int(child), 2) for child in children)
    return ticks / _TICK


def _ticks(process: int, fields: int) -> int:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0  # it has just ended
    return sum(map(int, stat.rpartition(")")[2].split()[11 : 11 + fields]))


def _memory(root: Path, dsn: str) -> Figure:
    """What a process grows by for each keep that it has open and has answered from."""
    settings = replace(Settings(), embedder="none", store=dsn)
    names = [f"open-{number}" for number in range(KEEPS)]
    for name in names:
        with Keep.open(name, home=root / "stored", settings=settings, background=False) as keep:
            keep.remember_many([TEXT.format(number) for number in range(PER_KEEP)], via="user")
    sizes = []
    with ExitStack() as stack:
        for part in (names[: KEEPS // 2], names[KEEPS // 2 :]):
            gc.collect()
            before = _resident()
            for name in part:
                keep = stack.enter_context(Keep.open(name, home=root / "stored", settings=settings, background=False))
                keep.recall("When does the team lead in town 7 like to meet?")
            gc.collect()
            sizes.append((_resident() - before) / len(part) / 1024)
    return Figure(f"memory of the process for each open keep of {PER_KEEP} memories", statistics.median(sizes), "KB")


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
