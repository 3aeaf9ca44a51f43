"""What the service costs beside the library, and how much it takes: recall, durable writes, many keeps.

Everything goes over loopback to ``truekeep serve`` in processes of its own, in keyword mode. Wall time, since waiting
is what a client notices; run it on a quiet machine. TRUEKEEP_BENCH_KEEPS sets how many keeps are touched (the bound is
meant for 10,000), TRUEKEEP_BENCH_SOAK how many seconds the soak runs (0 leaves it out).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import Figure
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.serve.tokens import Tokens

MEMORIES = 10_000
CLIENTS = 50
WRITES = 40
KEEPS = int(os.environ.get("TRUEKEEP_BENCH_KEEPS", "500"))
SOAK = float(os.environ.get("TRUEKEEP_BENCH_SOAK", "0"))
KEYWORDS = Settings(embedder="none")
PLACES = ("Nitra", "Graz", "Bergen", "Turin", "Ghent", "Porto", "Aarhus", "Split", "Tartu", "Cork")
THINGS = ("lamp", "desk", "parcel", "ladder", "bicycle", "printer", "kettle", "carpet", "mirror", "cabinet")
SEARCH, CREATE = "/v1/long-term-memory/search", "/v1/long-term-memory/"


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        figures = [*_recall(root / "recall"), *_writes(root / "writes"), *_many(root / "many")]
        return figures + (_soak(root / "soak") if SOAK else [])


def text_of(number: int) -> str:
    place, thing = PLACES[number % 10], THINGS[number // 10 % 10]
    return f"The {thing} number {number} stands in room {number % 997} of the house in {place}"


def query_of(number: int) -> dict[str, object]:
    return {"text": f"Where is {THINGS[number % 10]} {number * 37 % MEMORIES} in {PLACES[number % 7]}?", "limit": 5}


@contextmanager
def served(home: Path, workers: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The service in processes of its own; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    unlimited = {"TRUEKEEP_SERVE_REQUESTS_PER_SECOND": "0", "TRUEKEEP_SERVE_CHORE_SECONDS": "0"}
    environment = {**os.environ, "TRUEKEEP_EMBEDDER": "none", **unlimited}
    command = [sys.executable, "-m", "truekeep", "serve", "--home", str(home), "--port", str(port)]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--workers", str(workers)], env=environment, stderr=log, stdout=log, start_new_session=True
        )
    try:
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request("GET", "/v1/health")
                connection.getresponse().read()
                break
            except OSError:
                assert process.poll() is None, (home / "log").read_text()
                time.sleep(0.1)
        yield port, process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def token(home: Path, keep: str) -> str:
    return Tokens(Paths.resolve(home).keys).add(keep, "user", ["read", "write"])[0]


class Line:
    """One keep-alive connection that sends JSON and reads the answer, at little cost to the machine it shares."""

    def __init__(self, port: int, secret: str, keep: str = "") -> None:
        self._port = port
        self._head = f"Host: x\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
        self._head += f"Truekeep-Keep: {keep}\r\n" if keep else ""

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def post(self, path: str, body: object) -> tuple[int, bytes]:
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode()
        self._writer.write(head + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return int(answer[9:12]), await self._reader.readexactly(size)

    def close(self) -> None:
        self._writer.close()


def _recall(root: Path) -> list[Figure]:
    root.mkdir()
    with Keep.open("alice", home=root, settings=KEYWORDS) as keep:
        for start in range(0, MEMORIES, 1_000):
            keep.remember_many([text_of(number) for number in range(start, start + 1_000)], via="user")
        secret = token(root, "alice")
        with served(root, 1) as (port, process):
            asyncio.run(_by_turns(keep, port, secret))
            before = _cpu(process.pid), time.process_time()
            inside, outside = asyncio.run(_by_turns(keep, port, secret))
            service, both = _cpu(process.pid) - before[0], time.process_time() - before[1]
            together = asyncio.run(_together(port, secret, pause=0.0))
            paced = asyncio.run(_together(port, secret, pause=1.0))
    with served(root, 2) as (port, _):
        two = asyncio.run(_together(port, secret, pause=0.0))
    ratio = statistics.median(outside) / statistics.median(inside)
    return [
        Figure("recall in the process, 10,000 memories, p50", statistics.median(inside) * 1e3, "ms"),
        Figure("the same through REST, p50", statistics.median(outside) * 1e3, "ms"),
        Figure("recall: REST to in-process, p50", ratio, "times", 3.0),
        Figure(
            "recall: CPU of the service to CPU in the process, client's share included", service / both, "times", 3.0
        ),
        Figure("recall: p99, 50 clients that ask without a pause, one worker", _p99(together) * 1e3, "ms", 50.0),
        Figure("recall: p99, the same with two workers", _p99(two) * 1e3, "ms"),
        Figure("recall: p99, 50 clients that ask once a second, one worker", _p99(paced) * 1e3, "ms"),
    ]


async def _by_turns(keep: Keep, port: int, secret: str) -> tuple[list[float], list[float]]:
    line = Line(port, secret)
    await line.open()
    inside: list[float] = []
    outside: list[float] = []
    for number in range(220):
        query = query_of(number)
        started = time.perf_counter()
        keep.recall(str(query["text"]), k=5)
        between = time.perf_counter()
        code, _ = await line.post(SEARCH, query)
        assert code == 200
        inside.append(between - started)
        outside.append(time.perf_counter() - between)
    line.close()
    return inside[20:], outside[20:]


async def _together(port: int, secret: str, *, pause: float) -> list[float]:
    took: list[float] = []

    async def client(number: int) -> None:
        line = Line(port, secret)
        await line.open()
        await asyncio.sleep(pause * number / CLIENTS)
        for turn in range(20 if not pause else 8):
            started = time.perf_counter()
            code, _ = await line.post(SEARCH, query_of(number * 31 + turn))
            assert code == 200
            if turn > 1:
                took.append(time.perf_counter() - started)
            await asyncio.sleep(pause)
        line.close()

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return took


def _p99(took: list[float]) -> float:
    return statistics.quantiles(took, n=100)[98]


def _writes(root: Path) -> list[Figure]:
    root.mkdir()
    secret = token(root, "k*")
    with served(root, 2) as (port, _):
        asyncio.run(_write(port, secret, range(2)))  # opens every keep, loads the rules
        seconds = asyncio.run(_write(port, secret, range(2, 2 + WRITES)))
    lost = doubled = 0
    for number in range(CLIENTS):
        with Keep.open(f"k{number}", home=root, settings=KEYWORDS) as keep:
            found = [one["content"] for one in keep.get_memories()]
            assert keep.audit.verify().ok
        lost += len({_parcel(number, turn) for turn in range(2 + WRITES)} - set(found))
        doubled += len(found) - len(set(found))
    return [
        Figure(
            "durable writes, 50 clients over 50 keeps, two workers",
            CLIENTS * WRITES / seconds,
            "a second",
            None,
            "",
            400,
        ),
        Figure("of them lost", lost, "", 0),
        Figure("of them stored twice", doubled, "", 0),
    ]


def _parcel(number: int, turn: int) -> str:
    return f"Parcel {turn} of shelf {number} went to {PLACES[turn % 10]}"


async def _write(port: int, secret: str, turns: range) -> float:
    lines = [Line(port, secret, f"k{number}") for number in range(CLIENTS)]
    await asyncio.gather(*(line.open() for line in lines))

    async def client(number: int) -> None:
        for turn in turns:
            body = {"memories": [{"text": _parcel(number, turn), "id": f"p-{number}-{turn}"}]}
            code, answer = await lines[number].post(CREATE, body)
            assert code == 201, answer

    started = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    seconds = time.perf_counter() - started
    for line in lines:
        line.close()
    return seconds


def _many(root: Path) -> list[Figure]:
    root.mkdir()
    secret = token(root, "k*")
    with served(root, 1) as (port, process):

        async def touch() -> tuple[int, int]:
            most_files = most_memory = 0
            for number in range(KEEPS):
                line = Line(port, secret, f"k{number}")
                await line.open()
                code, answer = await line.post(CREATE, {"memories": [{"text": text_of(number)}]})
                assert code == 201, answer
                line.close()
                if number % 50 == 49 or number + 1 == KEEPS:
                    files, memory = _held(process.pid)
                    most_files, most_memory = max(most_files, files), max(most_memory, memory)
            return most_files, most_memory

        files, memory = asyncio.run(touch())
    return [
        Figure(f"{KEEPS:,} keeps touched in turn: memory", memory / 1e6, "MB", 600),
        Figure(f"{KEEPS:,} keeps touched in turn: file handles", files, "", 4_000),
    ]


def _held(pid: int) -> tuple[int, int]:
    """Open files and resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), memory


def _cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _soak(root: Path) -> list[Figure]:
    """Half load for a long time: memory at the end beside memory after the first tenth."""
    root.mkdir()
    secret = token(root, "k*")
    with served(root, 1) as (port, process):
        memory = asyncio.run(_steady(port, secret, process.pid))
    bad = 0
    for number in range(CLIENTS):
        with Keep.open(f"k{number}", home=root, settings=KEYWORDS) as keep:
            bad += not keep.audit.verify().ok
    early = statistics.median(memory[len(memory) // 10 : len(memory) // 5 or 1] or memory)
    return [
        Figure(f"soak of {SOAK:.0f} s: memory at the end to early on", memory[-1] / early, "times", 1.2),
        Figure("soak: keeps whose audit does not verify", bad, "", 0),
    ]


async def _steady(port: int, secret: str, pid: int) -> list[int]:
    ends = time.monotonic() + SOAK
    memory: list[int] = []

    async def client(number: int) -> None:
        line, turn = Line(port, secret, f"k{number}"), 0
        await line.open()
        while time.monotonic() < ends:
            turn += 1
            wish = query_of(turn) if turn % 4 else {"memories": [{"text": _parcel(number, turn)}]}
            code, answer = await line.post(SEARCH if turn % 4 else CREATE, wish)
            assert code in (200, 201), answer
            await asyncio.sleep(0.4)
        line.close()

    async def watch() -> None:
        while time.monotonic() < ends:
            memory.append(_held(pid)[1])
            await asyncio.sleep(1.0)

    await asyncio.gather(watch(), *(client(number) for number in range(CLIENTS)))
    return memory
