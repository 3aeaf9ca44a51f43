"""What a second service process costs: writes at one and at two processes over one database, and keeps that are cold.

Two services with homes of their own share a database, an anchor in another one and a master key, as two hosts do. Each
write is sent to the process that has the keep (``bound``), or to one and the other by turns, as behind a balancer that
knows of no keeps (``anywhere``): then each process first verifies what the other one wrote. All are measured by turns.
``TRUEKEEP_BENCH_KEEPS`` says with how many keeps in the database cold ones are opened in the end (0 for not), and
``TRUEKEEP_BENCH_ROUNDS`` how many rounds there are.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.postgres.hosts import Host, environment
from tests.postgres.server import Database, Server

from benchmarks.harness import Figure
from benchmarks.postgres_crowds import PER_KEEP, multiply
from benchmarks.serve_world import CREATE, SEARCH, Line, all_cpu, parcel, query_of, served, text_of

KEEPS = 50
ROUNDS, WRITES = int(os.environ.get("TRUEKEEP_BENCH_ROUNDS", "7")), 2
"""Rounds, and writes to each keep in each of them."""
HOT = 8
"""Keeps that the service of the cold ones holds open."""
MANY = int(os.environ.get("TRUEKEEP_BENCH_KEEPS", "2000"))
Ports = list[int]


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="tk-bench-") as folder, _surroundings(Path(folder)) as (server, database):
        figures = _writes(Path(folder), server)
        return [*figures, *_cold(Path(folder), database)] if MANY else figures


@contextmanager
def _surroundings(root: Path) -> Iterator[tuple[Server, Database]]:
    root.chmod(0o711)
    (root / "pg").mkdir()
    server = Server(root / "pg")
    try:
        database = server.database()
        os.environ.update(environment(database, server.database()))
        yield server, database
    finally:
        server.stop()


def _token(root: Path) -> str:
    return Host(root / "admin", None, "").token("*")  # type: ignore[arg-type]


def _writes(root: Path, server: Server) -> list[Figure]:
    secret = _token(root)
    ways: dict[str, Callable[[int, int], int]] = {
        "one": lambda _keep, _turn: 0,
        "bound": lambda keep, _turn: 1 + keep % 2,
        "anywhere": lambda keep, turn: 1 + (keep + turn) % 2,
    }
    with ExitStack() as stack:
        running = []
        for name in ("solo", "one", "other"):
            (root / name).mkdir()
            running.append(stack.enter_context(served(root / name, 1, replicas=2)))
        ports, pids = [port for port, _ in running], [process.pid for _, process in running]
        spent: dict[str, list[float]] = {way: [] for way in ways}
        stored: dict[str, list[float]] = {way: [] for way in ways}
        rates: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(ROUNDS + 1):
            for way, place in ways.items():
                turns = range(number * WRITES, (number + 1) * WRITES)
                before, base = sum(map(all_cpu, pids)), _server_cpu(server)
                seconds = asyncio.run(_written(ports, secret, way, place, turns))
                if number:  # the first round opens every keep
                    each = 1e3 / (KEEPS * WRITES)
                    spent[way].append((sum(map(all_cpu, pids)) - before) * each)
                    stored[way].append((_server_cpu(server) - base) * each)
                    rates[way].append(KEEPS * WRITES / seconds)
    return [*_told(spent, stored, rates)]


def _told(
    spent: dict[str, list[float]], stored: dict[str, list[float]], rates: dict[str, list[float]]
) -> Iterator[Figure]:
    for way, each in spent.items():
        yield Figure(f"a write, {way}: CPU of the services", statistics.median(each), "ms")
        yield Figure(f"a write, {way}: CPU of the database server", statistics.median(stored[way]), "ms")
        yield Figure(f"writes, {way}", statistics.median(rates[way]), "a second")
    for way in ("bound", "anywhere"):
        ratio = statistics.median(here / there for here, there in zip(spent[way], spent["one"], strict=True))
        speed = statistics.median(here / there for here, there in zip(rates[way], rates["one"], strict=True))
        yield Figure(f"CPU of a write, two processes ({way}) against one", ratio, "x", 1.15)
        yield Figure(f"writes a second, two processes ({way}) against one", speed, "x", None, "two cores")


async def _written(ports: Ports, secret: str, way: str, place: Callable[[int, int], int], turns: range) -> float:
    lines = {(port, keep): Line(port, secret, f"{way}{keep}") for port in ports for keep in range(KEEPS)}
    used = {(ports[place(keep, turn)], keep) for keep in range(KEEPS) for turn in turns}
    await asyncio.gather(*(lines[one].open() for one in used))

    async def client(keep: int) -> None:
        for turn in turns:
            body = {"memories": [{"text": parcel(keep, turn), "id": f"p-{keep}-{turn}"}]}
            code, answer = await lines[ports[place(keep, turn)], keep].post(CREATE, body)
            assert code == 201, answer

    started = time.perf_counter()
    await asyncio.gather(*map(client, range(KEEPS)))
    seconds = time.perf_counter() - started
    for one in used:
        lines[one].close()
    return seconds


def _server_cpu(server: Server) -> float:
    """What the database server and its processes have used, those that have ended included."""
    parent = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    fields = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return ended + all_cpu(parent)


def _cold(root: Path, database: Database) -> list[Figure]:
    secret = _token(root)
    with served(root / "solo", 1, keeps=HOT, keeps_per_token=HOT, threads=2) as (port, process):
        asyncio.run(_filled(port, secret))
        asyncio.run(_asked(port, secret))
        few = _each(port, secret, process.pid)
        count = database.run("SELECT count(*) FROM truekeep.keeps")[0][0]
        multiply(database, 1, MANY)
        many = _each(port, secret, process.pid)
        held = database.run("SELECT count(*) FROM truekeep.keeps")[0][0]
    ratio = many / few
    return [
        Figure(f"a recall in a cold keep, {count} keeps in the database: CPU of the service", few * 1e3, "ms"),
        Figure(f"a recall in a cold keep, {held:,} keeps in the database: CPU of the service", many * 1e3, "ms"),
        Figure("a cold keep among many against one among few", ratio, "x", 1.3),
    ]


async def _filled(port: int, secret: str) -> None:
    """The keep that is multiplied."""
    line = Line(port, secret, "one-0")
    await line.open()
    code, answer = await line.post(CREATE, {"memories": [{"text": text_of(number)} for number in range(PER_KEEP)]})
    assert code == 201, answer
    line.close()


def _each(port: int, secret: str, pid: int) -> float:
    before = all_cpu(pid)
    rounds = 3
    for _ in range(rounds):
        asyncio.run(_asked(port, secret))
    return (all_cpu(pid) - before) / (rounds * KEEPS)


async def _asked(port: int, secret: str) -> None:
    """Ask every keep once: by the time that one is asked again, others have taken its place."""
    for keep in range(KEEPS):
        line = Line(port, secret, f"one{keep}")
        await line.open()
        code, answer = await line.post(SEARCH, query_of(keep))
        assert code == 200, answer
        line.close()
