"""What a keep in PostgreSQL costs beside one in a file: writes, hot recall, cold opening, and very many keeps.

On a server of its own, on a socket. ``TRUEKEEP_BENCH_KEEPS`` says how many keeps the database is filled with; they are
copies of one keep's rows under other places, because only their number matters here.
"""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.postgres.server import Database, Server

from benchmarks.harness import Figure, cpu_per_call, median_ratio
from truekeep import Keep
from truekeep.config import Settings
from truekeep.stores.postgres import place_of

TEXT = "The team lead in town {} prefers meetings on Tuesday mornings and dislikes calls after four."
KEEPS = int(os.environ.get("TRUEKEEP_BENCH_KEEPS", "2000"))
PER_KEEP = 20


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="tk-bench-") as folder:
        root = Path(folder)
        root.chmod(0o711)
        place = root / "pg"
        place.mkdir()
        server = Server(place)
        try:
            database = server.database()
            return [*_by_turns(root, database), *_cold(root, database), *_many(root, database)]
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
        for where in (None, database):
            _filled(root, where, f"cold-{count}", count)
        taken = {where: _opened(root, found, f"cold-{count}") for where, found in (("file", None), ("pg", database))}
        note = f"{taken['file']:.0f} ms in a file, in the same run"
        figures.append(Figure(f"cold keep of {count} memories opened and asked", taken["pg"], "ms", bound, note))
    return figures


def _opened(root: Path, database: Database | None, name: str) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        with _keep(root, database, name) as keep:
            keep.recall("When does the team lead in town 77 like to meet?")
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def _many(root: Path, database: Database) -> list[Figure]:
    """As many keeps as wanted: disk for each, and how long one takes to open, at a tenth of them and at all."""
    _filled(root, database, "one", PER_KEEP)
    empty, found = _size(database), []
    for count in (KEEPS // 10, KEEPS):
        _multiply(database, count)
        found.append((count, (_size(database) - empty) / count, _opened(root, database, "one")))
    (_, few_bytes, few_ms), (count, bytes_each, opening) = found
    return [
        Figure(f"disk for each of {count} keeps of {PER_KEEP} memories", bytes_each / 1024, "KB"),
        Figure("disk for each keep, all / a tenth of them", bytes_each / few_bytes, "x", 1.3),
        Figure(f"opening one of {count} keeps", opening, "ms"),
        Figure("opening one keep, among all / among a tenth", opening / few_ms, "x", 1.3),
    ]


def _multiply(database: Database, count: int) -> None:
    """Let there be so many keeps with that one's rows; their boxes do not open, and nobody opens them."""
    one = place_of("one")
    copies = f"(SELECT md5('copy ' || n)::uuid AS copy FROM generate_series(1, {count}) n) c"  # noqa: S608
    database.run(
        f"INSERT INTO truekeep.keeps(keep, name, key, data_keys) SELECT copy, copy::text, key, data_keys "  # noqa: S608
        f"FROM truekeep.keeps, {copies} WHERE keep = '{one}' ON CONFLICT DO NOTHING",
        f"INSERT INTO truekeep.events SELECT copy, seq, body, state, hash FROM truekeep.events, {copies} "  # noqa: S608
        f"WHERE keep = '{one}' ON CONFLICT DO NOTHING",
        f"INSERT INTO truekeep.sealed SELECT copy, tbl, seq, id, body, mac, card FROM truekeep.sealed, {copies} "  # noqa: S608
        f"WHERE keep = '{one}' ON CONFLICT DO NOTHING",
        "VACUUM ANALYZE",
    )


def _size(database: Database) -> int:
    ((size,),) = database.run("SELECT pg_database_size(current_database())")
    return int(size)
