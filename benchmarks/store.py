"""What a durable, sealed, audited write costs beside a bare insert, and what a snapshot costs."""

from __future__ import annotations

import itertools
import json
import secrets
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw

from benchmarks.harness import Figure, cpu_per_call, median_ratio, wall_per_call
from truekeep import Keep
from truekeep.config import Paths
from truekeep.stores.files import open_ledger
from truekeep.stores.keys import choose_cipher
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_body, new_id
from truekeep.stores.sqlite import connect
from truekeep.stores.sqlite_schema import migrate
from truekeep.types import Memory, Origin, Standing

TEXT = "The team lead in Nitra prefers meetings on Tuesday mornings and dislikes calls after four, says number {}."
CARD = 900
"""Bytes of an index card with a vector of 384 half-precision numbers."""
_MANY = 10_000
_FIRST = """
import sys, time
from truekeep import Keep
keep = Keep.open("bench", home=sys.argv[1], embedder=lambda: None, background=False)
began = time.process_time()
keep.snapshot("s-1", refresh=True)
first = time.process_time()
keep.snapshot("s-2", refresh=True)
print(first - began, time.process_time() - first)
"""
AUDIT = {"version": 1, "channel": "user", "principal": None, "session": None, "standing": "owner"}


def now() -> datetime:
    return datetime.now(UTC)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return [
            *_writes(root / "writes"),
            *_durable(root / "durable"),
            *_guarded(root / "guarded"),
            *_snapshot(root / "snapshot"),
        ]


def _memory(number: int) -> Memory:
    moment = now()
    return Memory(new_id("mem"), TEXT.format(number), Standing.OWNER, Origin("user"), moment, moment, screened="0" * 64)


def _writes(root: Path) -> list[Figure]:
    root.mkdir()
    ledger = open_ledger(Paths.resolve(root), "bench", now)
    bare = connect(root / "bare.db", secrets.token_bytes(32), choose_cipher())
    migrate(bare)
    calls = {"bare": _bare(bare), "sealed": _sealed(ledger), "anchored": _sealed(ledger)}
    calls["sealed"] = _without_anchor(ledger, calls["sealed"])
    found = cpu_per_call(calls, rounds=15, repeat=100)
    ledger.close()
    bare.close()
    return [
        Figure("bare insert of row with index card and audit row", statistics.median(found["bare"]) * 1e6, "µs CPU"),
        Figure("sealed and chained write", statistics.median(found["sealed"]) * 1e6, "µs CPU"),
        Figure("sealed and chained write / bare insert", median_ratio(found["sealed"], found["bare"]), "x", 2.5),
        Figure("the same with the anchor / bare insert", median_ratio(found["anchored"], found["bare"]), "x"),
    ]


def _durable(root: Path) -> list[Figure]:
    """By the wall, because both are waits for the disk: the commit's sync, and the anchor's own."""
    root.mkdir()
    ledger = open_ledger(Paths.resolve(root), "bench", now)
    write = _sealed(ledger)
    found = wall_per_call({"without": _without_anchor(ledger, write), "with": write}, rounds=200, repeat=1)
    ledger.close()
    ratio = median_ratio(found["with"], found["without"])
    return [
        Figure("durable write without the anchor", statistics.median(found["without"]) * 1e3, "ms by the wall"),
        Figure("durable write with the anchor / without", ratio, "x by the wall", 2.0),
    ]


def _without_anchor(ledger: Ledger, write: Callable[[], None]) -> Callable[[], None]:
    """The same write without the synced anchor, which is a durability step of its own."""
    real = ledger._verified.anchors.advance

    def skipping() -> None:
        ledger._verified.anchors.advance = lambda head: None  # type: ignore[method-assign]  # noqa: ARG005
        write()
        ledger._verified.anchors.advance = real  # type: ignore[method-assign]

    return skipping


def _bare(connection: apsw.Connection) -> Callable[[], None]:
    """The same bytes into the same tables, with nothing computed and nothing checked."""
    numbers = itertools.count(1)
    memory = _memory(0)
    body = json.dumps(memory_body(memory))
    audit = json.dumps(AUDIT | {"memory": memory.id, "rows": [["memories", 1, "0" * 96]]})

    def write() -> None:
        seq = next(numbers)
        connection.execute("BEGIN IMMEDIATE")
        row = (seq, new_id("mem"), "", body, bytes(48), bytes(CARD))
        connection.execute("INSERT INTO memories(seq, id, tag, body, mac, card) VALUES (?, ?, ?, ?, ?, ?)", row)
        event = (seq, "2026-01-01T00:00:00.000000Z", "memory.stored", audit, bytes(32), bytes(32))
        connection.execute("INSERT INTO events(seq, at, kind, body, state, hash) VALUES (?, ?, ?, ?, ?, ?)", event)
        connection.execute("COMMIT")

    return write


def _sealed(ledger: Ledger) -> Callable[[], None]:
    numbers = itertools.count(1)

    def write() -> None:
        memory = _memory(next(numbers))
        with ledger.writing() as entry:
            entry.put("memories", memory.id, memory_body(memory), card=bytes(CARD))
            entry.event("memory.stored", memory=memory.id, **AUDIT)

    return write


def _guarded(root: Path) -> list[Figure]:
    numbers = itertools.count(1)
    with Keep.open("bench", home=root, embedder=lambda: None) as keep:

        def write() -> None:
            if not keep.remember(TEXT.format(next(numbers)), via="user").accepted:
                raise RuntimeError("the benchmark's own text was not accepted")

        found = cpu_per_call({"guarded": write}, rounds=10, repeat=50)
    return [Figure("whole guarded write, embedding excluded", statistics.median(found["guarded"]) * 1e3, "ms CPU", 2.0)]


def _snapshot(root: Path) -> list[Figure]:
    """A snapshot of a large keep: the first of a process, which has read no memory yet, and the next ones."""
    with Keep.open("bench", home=root, embedder=lambda: None, background=False) as keep:
        for start in range(0, _MANY, 500):
            keep.remember_many([TEXT.format(number) for number in range(start, start + 500)], via="user")
    runs = [
        subprocess.run([sys.executable, "-c", _FIRST, str(root)], capture_output=True, check=True) for _ in range(5)
    ]
    first, later = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    return [
        Figure(f"first snapshot of a process, {_MANY:,} passages", statistics.median(first) * 1e3, "ms CPU", 60.0),
        Figure(f"another snapshot, {_MANY:,} passages", statistics.median(later) * 1e3, "ms CPU", 60.0),
    ]
