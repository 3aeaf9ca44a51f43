"""What the service's benchmarks share: texts, a service in processes of its own, and callers that cost little.

The callers are one process with raw sockets: building a request and finding the end of an answer takes them less than
a tenth of what the service needs for it, so that the service has the machine almost to itself.
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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from truekeep.config import Paths, Settings
from truekeep.serve.tokens import TokenBook

MEMORIES = 10_000
CLIENTS = 50
KEYWORDS = Settings(embedder="none")
PLACES = ("Nitra", "Graz", "Bergen", "Turin", "Ghent", "Porto", "Aarhus", "Split", "Tartu", "Cork")
THINGS = ("lamp", "desk", "parcel", "ladder", "bicycle", "printer", "kettle", "carpet", "mirror", "cabinet")
SEARCH, CREATE = "/v1/long-term-memory/search", "/v1/long-term-memory/"


def text_of(number: int) -> str:
    """A memory."""
    place, thing = PLACES[number % 10], THINGS[number // 10 % 10]
    return f"The {thing} number {number} stands in room {number % 997} of the house in {place}"


def query_of(number: int) -> dict[str, object]:
    """A question about one of them."""
    return {"text": f"Where is {THINGS[number % 10]} {number * 37 % MEMORIES} in {PLACES[number % 7]}?", "limit": 5}


def parcel(number: int, turn: int) -> str:
    """What a client writes in its turn."""
    return f"Parcel {turn} of shelf {number} went to {PLACES[turn % 10]}"


@contextmanager
def served(home: Path, workers: int, **settings: object) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The service in processes of its own; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    unlimited = {"TRUEKEEP_SERVE_REQUESTS_PER_SECOND": "0", "TRUEKEEP_SERVE_CHORE_SECONDS": "0"}
    given = {f"TRUEKEEP_SERVE_{name.upper()}": str(value) for name, value in settings.items()}
    environment = {**os.environ, "TRUEKEEP_EMBEDDER": "none", **unlimited, **given}
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
        process.wait(120)


def token(home: Path, keep: str) -> str:
    """An owner's token."""
    return TokenBook(Paths.resolve(home).keys).add(keep, "user", ["read", "write"])[0]


class Line:
    """One keep-alive connection that sends JSON and reads the answer, at little cost to the machine it shares."""

    def __init__(self, port: int, secret: str, keep: str = "") -> None:
        self._port = port
        self._head = f"Host: x\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
        self._head += f"Truekeep-Keep: {keep}\r\n" if keep else ""

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def post(self, path: str, body: object) -> tuple[int, bytes]:
        """Send, and wait for the whole answer."""
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode()
        self._writer.write(head + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return int(answer[9:12]), await self._reader.readexactly(size)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


def held(pid: int) -> tuple[int, int]:
    """Open files and resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), memory


def cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processes(pid: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in processes(int(child)))]


def all_cpu(pid: int) -> float:
    """Seconds of CPU that a process and its children have used."""
    return sum(cpu(one) for one in processes(pid))


def busy_cores(started: tuple[float, float]) -> float:
    """How many cores the whole machine kept busy since then."""
    now = machine()
    return (now[0] - started[0]) / (now[1] - started[1])


def machine() -> tuple[float, float]:
    """Seconds of CPU that the machine has used, and the time."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK"), time.monotonic()


def p99(took: list[float]) -> float:
    """The time that one in a hundred goes over."""
    return statistics.quantiles(took, n=100)[98]
