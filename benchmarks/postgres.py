"""What a keep in PostgreSQL costs beside one in a file: writes, hot recall, cold opening, and very many keeps.

On a server of its own, on a socket. ``TRUEKEEP_BENCH_KEEPS`` says how many keeps the database is filled with; they are
copies of one keep's rows under other places, because only their number matters here.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.postgres.server import Database, Server

from benchmarks.harness import Figure, cpu_per_call, median_ratio
from benchmarks.postgres_costs import costs, server_seconds
from truekeep import Keep
from truekeep.config import Settings
from truekeep.stores.postgres import place_of
from truekeep.stores.postgres_lines import forget_lines

TEXT = "The team lead in town {} prefers meetings on Tuesday mornings and dislikes calls after four."
KEEPS = int(os.environ.get("TRUEKEEP_BENCH_KEEPS", "2000"))
PER_KEEP = 20
PARTS = (100, 10, 3, 1)
"""The openings are measured at these parts of all keeps."""
_AT_ONCE = 10_000
SAMPLE = 15
"""Keeps that are opened at each of them, each once, so that none is fresher in the server's memory than the others."""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="tk-bench-") as folder:
        root = Path(folder)
        root.chmod(0o711)
        place = root / "pg"
        place.mkdir()
        server = Server(place)
        try:
            # As an operator would size it for many keeps; the defaults are for a machine of the last century.
            server.run("ALTER SYSTEM SET shared_buffers = '512MB'", "ALTER SYSTEM SET max_wal_size = '4GB'")
            # It is run by hand: what it does on its own would be counted as the openings'.
            server.run("ALTER SYSTEM SET autovacuum = off")
            server.stop("fast")
            server.start()
            database = server.database()
            return [
                *_by_turns(root, database),
                *_cold(root, database),
                *costs(root, database),
                *_many(root, database),
            ]
        finally:
            server.stop()


@contextmanager
def _keep(root: Path, database: Database | None, name: str) -> Iterator[Keep]:
    settings = replace(Settings(), embedder="none", store=database.dsn if database else "")
    home = root / ("stored" if database else "files")
    with Keep.open(name, home=home, settings=settings, background=False) as keep:
        yield keep


def _filled(root: Path, database: Database | None, name: str, count: int) -> None:
    with _keep(root, database, name) as keep:
        for first in range(0, count, 1_000):
            entries = [TEXT.format(number) for number in range(first, min(count, first + 1_000))]
            keep.remember_many(entries, via="user")


def _by_turns(root: Path, database: Database) -> list[Figure]:
    """Guarded, durable writes and hot recall in both stores, by turns in one process."""
    numbers = itertools.count()
    for where in (None, database):
        _filled(root, where, "hot", 200)
    with _keep(root, None, "hot") as file, _keep(root, database, "hot") as stored:

        def writing(keep: Keep) -> Callable[[], object]:
            return lambda: keep.remember(TEXT.format(f"new-{next(numbers)}"), via="user")

        def asking(keep: Keep) -> Callable[[], object]:
            return lambda: keep.recall("When does the team lead in town 77 like to meet?")

        writes = cpu_per_call({"file": writing(file), "postgres": writing(stored)}, rounds=9, repeat=10)
        reads = cpu_per_call({"file": asking(file), "postgres": asking(stored)}, rounds=9, repeat=20)
    return [
        Figure(
            "write in PostgreSQL / in a file, CPU of the process",
            median_ratio(writes["postgres"], writes["file"]),
            "x",
            3.0,
        ),
        Figure("CPU of a write in PostgreSQL", statistics.median(writes["postgres"]) * 1e3, "ms"),
        Figure("hot recall in PostgreSQL / in a file, CPU", median_ratio(reads["postgres"], reads["file"]), "x", 1.1),
        Figure("CPU of a hot recall in PostgreSQL", statistics.median(reads["postgres"]) * 1e3, "ms"),
    ]


def _cold(root: Path, database: Database) -> list[Figure]:
    """A keep opened and asked, by the wall; the first opening of a process loads the rules, and is not counted."""
    figures = []
    for count, bound in ((200, 60.0), (10_000, 400.0)):
        name = f"cold-{count}"
        for where in (None, database):
            _filled(root, where, name, count)
        _opened(root, database, name)
        file, stored = (_times(root, where, [name] * 9) for where in (None, database))
        note = f"{statistics.median(file.wall):.0f} ms in a file; quickest {min(stored.wall):.0f} ms"
        figures += [
            Figure(
                f"cold keep of {count} memories opened and asked", statistics.median(stored.wall), "ms", bound, note
            ),
            Figure(f"its CPU, {count} memories", statistics.median(stored.cpu), "ms"),
            Figure(f"its CPU to a file's, {count} memories", median_ratio(stored.cpu, file.cpu), "x"),
        ]
    return figures


@dataclass(frozen=True)
class _Times:
    """Milliseconds of several openings."""

    wall: list[float]
    cpu: list[float]


def _times(root: Path, database: Database | None, names: list[str]) -> _Times:
    found = [_opened(root, database, name) for name in names]
    return _Times([wall for wall, _ in found], [cpu for _, cpu in found])


def _opened(root: Path, database: Database | None, name: str) -> tuple[float, float]:
    """Open a keep and ask it something; milliseconds by the wall, and of this process's CPU."""
    began, used = time.perf_counter(), time.process_time()
    with _keep(root, database, name) as keep:
        keep.recall("When does the team lead in town 77 like to meet?")
    return (time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3


def _many(root: Path, database: Database) -> list[Figure]:
    """As many keeps as wanted: disk for each, and how long some of them take to open, the more there are."""
    names = [f"one-{number}" for number in range(SAMPLE)]
    for name in names:
        _filled(root, database, name, PER_KEEP)
    empty, counts, sizes, walls, cpus, pages = _size(database), [], [], [], [], []
    for part in PARTS:
        counts.append(max(1, KEEPS // part))
        for first in range(counts[-2] + 1 if len(counts) > 1 else 1, counts[-1] + 1, _AT_ONCE):
            _multiply(database, first, min(counts[-1], first + _AT_ONCE - 1))
        database.run("VACUUM ANALYZE")
        sizes.append((_size(database) - empty) / counts[-1])
        looked, used = _pages(database), server_seconds(database)
        times = _times(root, database, names)
        served = (server_seconds(database) - used) / len(names) * 1e3
        walls.append(statistics.median(times.wall))
        cpus.append(statistics.median(times.cpu) + served)
        pages.append((_pages(database) - looked) / len(names))
        print(
            f"{counts[-1]} keeps: {sizes[-1] / 1024:.1f} KB each, opened in {walls[-1]:.1f} ms, "
            f"{cpus[-1]:.1f} ms CPU, {served:.1f} of them the server's, {pages[-1]:.0f} pages"
        )
    return [
        Figure(f"disk for each of {counts[-1]} keeps of {PER_KEEP} memories", sizes[-1] / 1024, "KB"),
        Figure(f"disk for each keep, {counts[-1]} / {counts[0]}", sizes[-1] / sizes[0], "x", 1.3),
        Figure(f"opening one of {counts[-1]} keeps", walls[-1], "ms"),
        Figure(f"opening a keep among {counts[-1]} / {counts[0]}", walls[-1] / walls[0], "x", 1.3),
        Figure(f"its CPU, the server's too, among {counts[-1]} / {counts[0]}", cpus[-1] / cpus[0], "x", 1.3),
        Figure(f"pages the server looks at, among {counts[-1]} / {counts[0]}", pages[-1] / pages[0], "x", 1.3),
        Figure("exponent of the time of an opening by the number of keeps", _exponent(counts, walls), ""),
        Figure("exponent of the CPU of an opening by the number of keeps", _exponent(counts, cpus), ""),
        Figure("exponent of the disk by the number of keeps", 1 + _exponent(counts, sizes), ""),
    ]


def _pages(database: Database) -> int:
    """Pages that the database's connections have looked at, in memory or on the disk; counted when they end."""
    forget_lines(database.dsn)
    look = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"
    database.run("SELECT pg_stat_clear_snapshot()")
    ((pages,),) = database.run(look)
    return int(pages)


def _exponent(counts: list[int], values: list[float]) -> float:
    """How a value grows with the number of keeps: 0 not at all, 1 in proportion."""
    return statistics.linear_regression([*map(math.log, counts)], [*map(math.log, values)]).slope


def _multiply(database: Database, first: int, last: int) -> None:
    """Add keeps with one's rows, by their numbers; their boxes do not open, and nobody opens them."""
    one = place_of("one-0")
    copies = f"(SELECT md5('copy ' || n)::uuid AS copy FROM generate_series({first}, {last}) n) c"  # noqa: S608
    database.run(
        f"INSERT INTO truekeep.keeps(keep, name, key, data_keys) SELECT copy, copy::text, key, data_keys "  # noqa: S608
        f"FROM truekeep.keeps, {copies} WHERE keep = '{one}'",
        f"INSERT INTO truekeep.events SELECT copy, seq, body, state, hash FROM truekeep.events, {copies} "  # noqa: S608
        f"WHERE keep = '{one}'",
        f"INSERT INTO truekeep.sealed SELECT copy, tbl, seq, id, body, mac, card FROM truekeep.sealed, {copies} "  # noqa: S608
        f"WHERE keep = '{one}'",
    )


def _size(database: Database) -> int:
    ((size,),) = database.run("SELECT pg_database_size(current_database())")
    return int(size)
