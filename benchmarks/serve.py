"""What the service costs beside the library, and how much it takes: recall, durable writes, many keeps.

Everything goes over loopback to ``truekeep serve`` in processes of its own, in keyword mode. Wall time, since waiting
is what a client notices; run it on a quiet machine: the last figure says how busy others kept it meanwhile.
TRUEKEEP_BENCH_KEEPS sets how many keeps are touched (the bound is meant for 10,000); the soak is ``serve_soak``.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Figure
from benchmarks.serve_world import (
    CLIENTS,
    CREATE,
    KEYWORDS,
    MEMORIES,
    SEARCH,
    Line,
    all_cpu,
    busy_cores,
    cpu,
    held,
    machine,
    p99,
    parcel,
    query_of,
    served,
    text_of,
    token,
)
from truekeep import Keep

WRITES = 40
KEEPS = int(os.environ.get("TRUEKEEP_BENCH_KEEPS", "500"))


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return [*_recall(root / "recall"), *_writes(root / "writes"), *_many(root / "many")]


def _recall(root: Path) -> list[Figure]:
    root.mkdir()
    with Keep.open("alice", home=root, settings=KEYWORDS) as keep:
        for start in range(0, MEMORIES, 1_000):
            keep.remember_many([text_of(number) for number in range(start, start + 1_000)], via="user")
        secret = token(root, "alice")
        with served(root, 1) as (port, process):
            asyncio.run(_by_turns(keep, port, secret))
            before = cpu(process.pid), time.process_time()
            inside, outside = asyncio.run(_by_turns(keep, port, secret))
            service, both = cpu(process.pid) - before[0], time.process_time() - before[1]
            once = asyncio.run(_together(port, secret, pause=1.0))
    with served(root, 2) as (port, _):
        asyncio.run(_together(port, secret, pause=0.0))  # both workers open the keep
        twice = asyncio.run(_together(port, secret, pause=0.5))
        started = time.perf_counter()
        together = asyncio.run(_together(port, secret, pause=0.0))
        seconds = time.perf_counter() - started
    ratio = statistics.median(outside) / statistics.median(inside)
    return [
        Figure("recall in the process, 10,000 memories, p50", statistics.median(inside) * 1e3, "ms"),
        Figure("the same through REST, p50", statistics.median(outside) * 1e3, "ms"),
        Figure("recall: REST to in-process, p50", ratio, "times", 3.0),
        Figure("recall: CPU of the service to CPU in the process and of the client", service / both, "times", 3.0),
        Figure("recall: p99, 50 clients that ask once a second, one worker", p99(once) * 1e3, "ms", 50.0),
        Figure("recall: p99, 50 clients that ask twice a second, two workers", p99(twice) * 1e3, "ms", 50.0),
        Figure("recall: p99, 50 clients that ask without a pause, two workers", p99(together) * 1e3, "ms", 50.0),
        Figure("recall: answers a second to those without a pause", CLIENTS * 20 / seconds, "a second"),
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
    """All clients at once; a client that pauses asks at its own times, however long the answers take."""
    took: list[float] = []

    async def client(number: int) -> None:
        line = Line(port, secret)
        await line.open()
        begins = time.perf_counter() + pause * number / CLIENTS
        for turn in range(20 if not pause else int(8 / pause)):
            await asyncio.sleep(max(0.0, begins + turn * pause - time.perf_counter()) if pause else 0.0)
            started = time.perf_counter()
            code, _ = await line.post(SEARCH, query_of(number * 31 + turn))
            assert code == 200
            if turn > 1:
                took.append(time.perf_counter() - started)
        line.close()

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return took


def _writes(root: Path) -> list[Figure]:
    root.mkdir()
    secret = token(root, "k*")
    with served(root, 2) as (port, process):
        asyncio.run(_write(port, secret, range(2)))  # opens every keep, loads the rules
        before, whole, mine = all_cpu(process.pid), machine(), time.process_time()
        seconds = asyncio.run(_write(port, secret, range(2, 2 + WRITES)))
        service, mine = all_cpu(process.pid) - before, time.process_time() - mine
        others = busy_cores(whole) - (service + mine) / seconds
    lost = doubled = 0
    for number in range(CLIENTS):
        with Keep.open(f"k{number}", home=root, settings=KEYWORDS) as keep:
            found = [one["content"] for one in keep.get_memories()]
            assert keep.audit.verify().ok
        lost += len({parcel(number, turn) for turn in range(2 + WRITES)} - set(found))
        doubled += len(found) - len(set(found))
    each = 1e3 / (CLIENTS * WRITES)
    rate = CLIENTS * WRITES / seconds
    return [
        Figure("durable writes, 50 clients over 50 keeps, two workers", rate, "a second", None, "", 400),
        Figure("of them lost", lost, "", 0),
        Figure("of them stored twice", doubled, "", 0),
        Figure("a write: CPU of the service", service * each, "ms"),
        Figure("a write: CPU of the clients", mine * each, "ms"),
        Figure("cores that everything else on the machine kept busy during the writes", others, "cores"),
    ]


async def _write(port: int, secret: str, turns: range) -> float:
    lines = [Line(port, secret, f"k{number}") for number in range(CLIENTS)]
    await asyncio.gather(*(line.open() for line in lines))

    async def client(number: int) -> None:
        for turn in turns:
            body = {"memories": [{"text": parcel(number, turn), "id": f"p-{number}-{turn}"}]}
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
                    files, memory = held(process.pid)
                    most_files, most_memory = max(most_files, files), max(most_memory, memory)
            return most_files, most_memory

        files, memory = asyncio.run(touch())
    return [
        Figure(f"{KEEPS:,} keeps touched in turn: memory", memory / 1e6, "MB", 600),
        Figure(f"{KEEPS:,} keeps touched in turn: file handles", files, "", 4_000),
    ]
