"""What a keep in PostgreSQL costs beside one in a file: writes, hot recall, cold opening, and very many keeps.

On a server of its own, on a socket. ``TRUEKEEP_BENCH_KEEPS`` says how many keeps the database is filled with, and
``TRUEKEEP_BENCH_PARTS`` which parts are measured (``hot cold costs many``). With ``TRUEKEEP_BENCH_FOLDER`` the server
and its databases stay there, and are used again.
"""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres.server import Database, Server

from benchmarks.harness import Figure, cpu_per_call, median_ratio, wall_per_call
from benchmarks.postgres_costs import costs
from benchmarks.postgres_crowds import crowds
from benchmarks.postgres_keeps import QUESTION, TEXT, filled, keep_in, opened, times
from truekeep import Keep
from truekeep.stores.postgres_lines import lines_to
from truekeep.stores.postgres_wire import run

KEEPS = int(os.environ.get("TRUEKEEP_BENCH_KEEPS", "2000"))


def measure() -> list[Figure]:
    parts: dict[str, Callable[[Path, Server], list[Figure]]] = {
        "hot": lambda root, server: _by_turns(root, server.database()),
        "cold": lambda root, server: _cold(root, server.database()),
        "costs": lambda root, server: costs(root, server.database()),
        "many": lambda root, server: crowds(root, server, KEEPS),
    }
    chosen = os.environ.get("TRUEKEEP_BENCH_PARTS", " ".join(parts)).split()
    with _served() as (root, server), tempfile.TemporaryDirectory(prefix="tk-bench-") as homes:
        return [
            figure for name in chosen for figure in parts[name](root if name == "many" else Path(homes, name), server)
        ]


@contextmanager
def _served() -> Iterator[tuple[Path, Server]]:
    """A folder, and a server that has its data there."""
    with tempfile.TemporaryDirectory(prefix="tk-bench-") as folder:
        root = Path(os.environ.get("TRUEKEEP_BENCH_FOLDER", folder))
        root.mkdir(exist_ok=True)
        root.chmod(0o711)
        place = root / "pg"
        place.mkdir(exist_ok=True)
        server = Server(place)
        try:
            # As an operator would size it for many keeps; the defaults are for a machine of the last century.
            server.run("ALTER SYSTEM SET shared_buffers = '512MB'", "ALTER SYSTEM SET max_wal_size = '4GB'")
            # It is run by hand: what it does on its own would be counted as the openings'.
            server.run("ALTER SYSTEM SET autovacuum = off")
            server.stop("fast")
            server.start()
            yield root, server
        finally:
            server.stop("fast")


def _by_turns(root: Path, database: Database) -> list[Figure]:
    """Guarded, durable writes and hot recall in both stores, by turns in one process."""
    numbers = itertools.count()
    for where in (None, database):
        filled(root, where, "hot", 200)
    with keep_in(root, None, "hot") as file, keep_in(root, database, "hot") as stored:

        def writing(keep: Keep) -> Callable[[], object]:
            return lambda: keep.remember(TEXT.format(f"new-{next(numbers)}"), via="user")

        def asking(keep: Keep) -> Callable[[], object]:
            return lambda: keep.recall(QUESTION)

        def least() -> None:
            """What no recall over a connection can be below: a file's, and the shortest question that there is."""
            file.recall(QUESTION)
            line = lines.take(10)
            run(line, b"SELECT 1")
            lines.give_back(line)

        lines = lines_to(database.dsn)
        recalls = {"file": asking(file), "postgres": asking(stored), "least": least}
        writes = cpu_per_call({"file": writing(file), "postgres": writing(stored)}, rounds=15, repeat=10)
        reads = cpu_per_call(recalls, rounds=25, repeat=30)
        walls = wall_per_call(recalls, rounds=25, repeat=30)
    hot, bare = "hot recall in PostgreSQL / in a file", "hot recall in a file and SELECT 1 / in a file"
    written = median_ratio(writes["postgres"], writes["file"])
    return [
        Figure("write in PostgreSQL / in a file, CPU of the process", written, "x", 3.0),
        Figure("CPU of a write in PostgreSQL", statistics.median(writes["postgres"]) * 1e3, "ms"),
        Figure(f"{hot}, CPU", median_ratio(reads["postgres"], reads["file"]), "x", 1.1),
        Figure(f"{bare}, CPU", median_ratio(reads["least"], reads["file"]), "x"),
        Figure("CPU of a hot recall in PostgreSQL", statistics.median(reads["postgres"]) * 1e3, "ms"),
        Figure(f"{hot}, by the wall", median_ratio(walls["postgres"], walls["file"]), "x"),
        Figure(f"{bare}, by the wall", median_ratio(walls["least"], walls["file"]), "x"),
        Figure("hot recall in PostgreSQL, by the wall", statistics.median(walls["postgres"]) * 1e3, "ms"),
    ]


def _cold(root: Path, database: Database) -> list[Figure]:
    """A keep opened and asked, by the wall; the first opening of a process loads the rules, and is not counted."""
    figures = []
    for count, bound in ((200, 60.0), (10_000, 400.0)):
        name = f"cold-{count}"
        for where in (None, database):
            filled(root, where, name, count)
        opened(root, database, name)
        file, stored = (times(root, where, [name] * 15) for where in (None, database))
        note = f"{statistics.median(file.wall):.0f} ms in a file; quickest {min(stored.wall):.0f} ms"
        figures += [
            Figure(
                f"cold keep of {count} memories opened and asked", statistics.median(stored.wall), "ms", bound, note
            ),
            Figure(f"its CPU, {count} memories", statistics.median(stored.cpu), "ms"),
            Figure(f"its CPU to a file's, {count} memories", median_ratio(stored.cpu, file.cpu), "x"),
        ]
    return figures
