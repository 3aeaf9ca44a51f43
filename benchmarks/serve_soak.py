"""The service at half its load for a long time: memory stays flat, nothing fails, every keep's audit log verifies.

Half load is half of what the same clients get answered without a pause, measured for some seconds at the start. A
client recalls three times for every memory it writes, and moves on to a fresh keep after a hundred memories, so that
what the service holds in memory is bounded by its pool and any growth is a leak. TRUEKEEP_BENCH_SOAK sets the seconds
(1,800 is what the bound is meant for). Every minute a line goes to standard error.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness import Figure
from benchmarks.serve_world import CLIENTS, CREATE, KEYWORDS, SEARCH, Line, held, p99, parcel, query_of, served, token
from truekeep import Keep

SECONDS = float(os.environ.get("TRUEKEEP_BENCH_SOAK", "60"))
_FULL_SECONDS = min(20.0, SECONDS / 4)
_MEMORIES_A_KEEP = 100
_POOL = 64


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        secret = token(root, "k*")
        with served(root, 1, keeps=_POOL) as (port, process):
            soak = Soak(port, secret, process.pid)
            asyncio.run(soak.run(_FULL_SECONDS, pause=0.0))  # opens the keeps, loads the rules
            soak.begin_again()
            asyncio.run(soak.run(_FULL_SECONDS, pause=0.0))
            full = soak.done / _FULL_SECONDS
            soak.begin_again()
            asyncio.run(soak.run(SECONDS, pause=2 * CLIENTS / full))
        return _figures(root, soak, full)


def _figures(root: Path, soak: Soak, full: float) -> list[Figure]:
    bad = lost = 0
    for name, count in soak.written.items():
        with Keep.open(name, home=root, settings=KEYWORDS) as keep:
            bad += not keep.audit.verify().ok
            lost += count - len(keep.get_memories())
    tenth = max(1, len(soak.memory) // 10)
    early, late = statistics.median(soak.memory[tenth : 2 * tenth]), statistics.median(soak.memory[-tenth:])
    label = f"soak of {SECONDS:,.0f} s"
    return [
        Figure(f"{label}: requests a second without a pause", full, "a second"),
        Figure(f"{label}: requests a second, half of that", soak.done / SECONDS, "a second"),
        Figure(f"{label}: memory in the second tenth", early / 1e6, "MB"),
        Figure(f"{label}: memory in the last tenth", late / 1e6, "MB"),
        Figure(f"{label}: the last to the second", late / early, "times", 1.05),
        Figure(f"{label}: p99", p99(soak.took) * 1e3, "ms"),
        Figure(f"{label}: requests that failed", soak.failed, "", 0),
        Figure(f"{label}: writes that were acknowledged and are not there", lost, "", 0),
        Figure(f"{label}: keeps", len(soak.written), ""),
        Figure(f"{label}: keeps whose audit log does not verify", bad, "", 0),
    ]


@dataclass
class Soak:
    """The clients, and what they and the memory gauge saw."""

    port: int
    secret: str
    pid: int
    written: dict[str, int] = field(default_factory=dict)
    memory: list[int] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    done: int = 0
    failed: int = 0
    _turns: list[int] = field(default_factory=lambda: [0] * CLIENTS)

    def begin_again(self) -> None:
        """Count from here."""
        self.done, self.memory, self.took = 0, [], []

    async def run(self, seconds: float, *, pause: float) -> None:
        """All clients until the time is over."""
        ends = time.monotonic() + seconds
        await asyncio.gather(self._watch(ends), *(self._client(number, ends, pause) for number in range(CLIENTS)))

    async def _client(self, number: int, ends: float, pause: float) -> None:
        lines: dict[str, Line] = {}
        due = time.monotonic() + pause * number / CLIENTS
        while due < ends and time.monotonic() < ends:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = due + pause if pause else time.monotonic()
            self._turns[number] += 1
            turn = self._turns[number]
            name = f"k{number}-{turn // 4 // _MEMORIES_A_KEEP}"
            try:
                if name not in lines:
                    for line in lines.values():
                        line.close()
                    lines = {name: Line(self.port, self.secret, name)}
                    await lines[name].open()
                await self._ask(lines[name], name, number, turn)
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                self.failed += 1
                lines.clear()
                print(f"failed: {type(error).__name__}", file=sys.stderr, flush=True)
        for line in lines.values():
            line.close()

    async def _ask(self, line: Line, name: str, number: int, turn: int) -> None:
        started = time.perf_counter()
        if turn % 4 == 0 or name not in self.written:
            code, _ = await line.post(CREATE, {"memories": [{"text": parcel(number, turn)}]})
            self.written[name] = self.written.get(name, 0) + (code == 201)
        else:
            code, _ = await line.post(SEARCH, query_of(turn))
        self.took.append(time.perf_counter() - started)
        self.done += 1
        if code not in (200, 201):
            self.failed += 1
            print(f"failed: {code}", file=sys.stderr, flush=True)

    async def _watch(self, ends: float) -> None:
        seen = 0
        while time.monotonic() < ends:
            files, memory = held(self.pid)
            self.memory.append(memory)
            if seen % 60 == 0:
                told = f"{self.done} done, {self.failed} failed, {memory / 1e6:.0f} MB, {files} files"
                print(f"{time.strftime('%H:%M:%S', time.gmtime())} {told}", file=sys.stderr, flush=True)
            seen += 1
            await asyncio.sleep(1.0)
