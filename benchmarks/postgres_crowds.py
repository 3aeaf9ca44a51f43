"""Very many keeps in one database, and fewer in others: disk for each, and what opening one costs there.

They are made by a generator: one keep's rows are copied under other places by the server itself, because only their
number matters here. Filling goes on where it was cut off, and databases that are full are used again, so that the
openings alone can be measured on a quiet machine.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
from pathlib import Path

from tests.postgres.server import Database, Server

from benchmarks.harness import Figure, median_ratio
from benchmarks.postgres_costs import server_seconds
from benchmarks.postgres_keeps import filled, times
from truekeep.stores.postgres import place_of
from truekeep.stores.postgres_lines import forget_lines

PER_KEEP = 20
PARTS = (100, 10, 1)
"""There is a database with each of these parts of all keeps."""
_AT_ONCE = 10_000
SAMPLE, TURNS = 7, 5
"""Keeps that are opened in each at a turn, each once, so that none is fresher in the server's memory than others."""
_NAMES = [f"one-{number}" for number in range(SAMPLE * TURNS)]


class Crowd:
    """A database with so many keeps in it, and what opening some of them cost."""

    def __init__(self, home: Path, server: Server, count: int) -> None:
        self.home, self.count = home, count
        # A home of its own: a keep of the same name has another anchor in each database.
        known = home / "crowd.json"
        if not known.exists():
            shutil.rmtree(home, ignore_errors=True)
            database = server.database()
            for name in _NAMES:
                filled(home, database, name, PER_KEEP)
            known.write_text(json.dumps({"database": database.name, "empty": _size(database)}))
        found = json.loads(known.read_text())
        self.database = Database(server, found["database"])
        self._fill()
        self.size = (_size(self.database) - found["empty"]) / count
        self.walls: list[float] = []
        self.cpus: list[float] = []
        """Milliseconds for each opening, the server's part among those of CPU."""
        self.pages: list[float] = []

    def _fill(self) -> None:
        full = self.home / "full"
        if full.exists():
            return
        ((there,),) = self.database.run("SELECT count(*) FROM truekeep.keeps")
        copies = int(there) - len(_NAMES)
        for first in range(copies + 1, self.count + 1, _AT_ONCE):
            multiply(self.database, first, min(self.count, first + _AT_ONCE - 1))
            print(f"{self.count} keeps: {first - 1} are there", file=sys.stderr, flush=True)
        self.database.run("VACUUM ANALYZE")
        full.touch()

    def open(self, names: list[str]) -> None:
        """Open these keeps, none of which was opened since the server was started."""
        looked, used = _pages(self.database), server_seconds(self.database)
        found = times(self.home, self.database, names)
        served = (server_seconds(self.database) - used) * 1e3
        self.pages.append((_pages(self.database) - looked) / len(names))
        self.walls.append(statistics.median(found.wall))
        self.cpus.append((sum(found.cpu) + served) / len(names))


def crowds(root: Path, server: Server, keeps: int) -> list[Figure]:
    """Openings are measured by turns, so that the machine's other work hits all of them alike."""
    counts = [max(1, keeps // part) for part in PARTS]
    found = [Crowd(root / f"crowd-{count}", server, count) for count in counts]
    for turn in range(TURNS):
        for crowd in found:
            crowd.open(_NAMES[turn * SAMPLE :][:SAMPLE])
    walls, cpus, pages = (
        [statistics.median(of) for of in each]
        for each in zip(*((one.walls, one.cpus, one.pages) for one in found), strict=True)
    )
    for one, wall, cpu, looked in zip(found, walls, cpus, pages, strict=True):
        print(
            f"{one.count} keeps: {one.size / 1024:.1f} KB each, opened in {wall:.1f} ms, "
            f"{cpu:.1f} ms CPU with the server's, {looked:.0f} pages"
        )
    first, last = found[0], found[-1]
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


def multiply(database: Database, first: int, last: int) -> None:
    """Add keeps with one's rows, by their numbers, all or none; their boxes do not open, and nobody opens them."""
    one = place_of("one-0")
    copies = f"(SELECT md5('copy ' || n)::uuid AS copy FROM generate_series({first}, {last}) n) c"  # noqa: S608
    database.run(
        "BEGIN",
        f"INSERT INTO truekeep.keeps(keep, name, key, data_keys) SELECT copy, copy::text, key, data_keys "  # noqa: S608
        f"FROM truekeep.keeps, {copies} WHERE keep = '{one}'",
        f"INSERT INTO truekeep.events SELECT copy, seq, body, state, hash FROM truekeep.events, {copies} "  # noqa: S608
        f"WHERE keep = '{one}'",
        f"INSERT INTO truekeep.sealed SELECT copy, tbl, seq, id, body, mac, card FROM truekeep.sealed, {copies} "  # noqa: S608
        f"WHERE keep = '{one}'",
        "COMMIT",
    )


def _size(database: Database) -> int:
    ((size,),) = database.run("SELECT pg_database_size(current_database())")
    return int(size)
