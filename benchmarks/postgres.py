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

from benchmarks.harness import Figure, cpu_per_call, median_ratio, wall_per_call
from benchmarks.postgres_costs import costs, server_seconds
from truekeep import Keep
from truekeep.config import Settings
from truekeep.stores.postgres import place_of
from truekeep.stores.postgres_lines import forget_lines

TEXT = "The team lead in town {} prefers meetings on Tuesday mornings and dislikes calls after four."
KEEPS = int(os.environ.get("TRUEKEEP_BENCH_KEEPS", "2000"))
PER_KEEP = 20
PARTS = (100, 10, 3, 1)
"""There is a database with each of these parts of all keeps."""
_AT_ONCE = 10_000
SAMPLE, TURNS = 7, 5
"""Keeps that are opened in each at a turn, each once, so that none is fresher in the server's memory than others."""


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
                *_many(root, server),
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

        writes = cpu_per_call({"file": writing(file), "postgres": writing(stored)}, rounds=15, repeat=10)
        reads = cpu_per_call({"file": asking(file), "postgres": asking(stored)}, rounds=25, repeat=30)
        walls = wall_per_call({"file": asking(file), "postgres": asking(stored)}, rounds=25, repeat=30)
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
        Figure(
            "hot recall in PostgreSQL / in a file, by the wall", median_ratio(walls["postgres"], walls["file"]), "x"
        ),
    ]


def _cold(root: Path, database: Database) -> list[Figure]:
    """A keep opened and asked, by the wall; the first opening of a process loads the rules, and is not counted."""
    figures = []
    for count, bound in ((200, 60.0), (10_000, 400.0)):
        name = f"cold-{count}"
        for where in (None, database):
            _filled(root, where, name, count)
        _opened(root, database, name)
        file, stored = (_times(root, where, [name] * 15) for where in (None, database))
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


class _Crowd:
    """A database with so many keeps in it, and what opening some of them cost."""

    def __init__(self, root: Path, database: Database, count: int, names: list[str]) -> None:
        self.database, self.count = database, count
        for name in names:
            _filled(root, database, name, PER_KEEP)
        empty = _size(database)
        for first in range(1, count + 1, _AT_ONCE):
            _multiply(database, first, min(count, first + _AT_ONCE - 1))
        database.run("VACUUM ANALYZE")
        self.size = (_size(database) - empty) / count
        self.walls: list[float] = []
        self.cpus: list[float] = []
        """Milliseconds for each opening, the server's part among those of CPU."""
        self.pages: list[float] = []

    def open(self, root: Path, names: list[str]) -> None:
        """Open these keeps, none of which was opened since the database was filled."""
        looked, used = _pages(self.database), server_seconds(self.database)
        times = _times(root, self.database, names)
        served = (server_seconds(self.database) - used) * 1e3
        self.pages.append((_pages(self.database) - looked) / len(names))
        self.walls.append(statistics.median(times.wall))
        self.cpus.append((sum(times.cpu) + served) / len(names))


def _many(root: Path, server: Server) -> list[Figure]:
    """As many keeps as wanted in one database, and fewer in others: disk for each, and what opening one costs there.

    Openings are measured by turns, so that the machine's other work hits all of them alike.
    """
    names = [f"one-{number}" for number in range(SAMPLE * TURNS)]
    crowds = []
    for part in PARTS:
        # A home of its own: a keep of the same name has another anchor in each database.
        home = root / f"crowd-{part}"
        crowds.append((home, _Crowd(home, server.database(), max(1, KEEPS // part), names)))
        print(f"{crowds[-1][1].count} keeps: {crowds[-1][1].size / 1024:.1f} KB each")
    for turn in range(TURNS):
        for home, crowd in crowds:
            crowd.open(home, names[turn * SAMPLE :][:SAMPLE])
    found = [crowd for _, crowd in crowds]
    walls, cpus, pages = (
        [statistics.median(of) for of in each]
        for each in zip(*((one.walls, one.cpus, one.pages) for one in found), strict=True)
    )
    for one, wall, cpu, looked in zip(found, walls, cpus, pages, strict=True):
        print(f"{one.count} keeps: opened in {wall:.1f} ms, {cpu:.1f} ms CPU with the server's, {looked:.0f} pages")
    first, last, counts = found[0], found[-1], [crowd.count for crowd in found]
    among = f"among {last.count} / {first.count}"
    return [
        Figure(f"disk for each of {last.count} keeps of {PER_KEEP} memories", last.size / 1024, "KB"),
        Figure(f"disk for each keep, {last.count} / {first.count}", last.size / first.size, "x", 1.3),
        Figure(f"opening one of {last.count} keeps", walls[-1], "ms"),
        Figure(f"opening a keep {among}", median_ratio(last.walls, first.walls), "x", 1.3),
        Figure(f"its CPU, the server's too, {among}", median_ratio(last.cpus, first.cpus), "x", 1.3),
        Figure(f"pages the server looks at, {among}", median_ratio(last.pages, first.pages), "x", 1.3),
        *(
            Figure(f"exponent of the {what} of an opening by the number of keeps", _exponent(counts, each), "")
            for what, each in (("time", walls), ("CPU", cpus))
        ),
        Figure("exponent of the disk by the number of keeps", 1 + _exponent(counts, [one.size for one in found]), ""),
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
