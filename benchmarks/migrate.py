"""Moving in from another memory, beside the embedder alone on the same texts: throughput, and that it stays linear.

    TRUEKEEP_BENCH_ENTRIES=100000 TRUEKEEP_BENCH_INFORM=3000 python -m benchmarks migrate

With the default preset everything is held and embedded only when it is taken over; with ``inform`` it is embedded as it
comes in. Both draw the bar of the command. Parts of the load and the embedder take turns in one process.
"""

from __future__ import annotations

import io
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress

from benchmarks.harness import Figure, Noise
from truekeep import Keep
from truekeep.embed import default
from truekeep.protect.migrate import moving, stores
from truekeep.search import windows

LEAST = 0.8
ENTRIES = int(os.environ.get("TRUEKEEP_BENCH_ENTRIES", "20000"))
INFORM = int(os.environ.get("TRUEKEEP_BENCH_INFORM", "3000"))
PARTS = 5
PORTION = 64
ALONE = 300
"""Texts of each part that the embedder alone is measured on; all of them, where a part has no more."""
THINGS = ("piano", "loom", "radio", "canoe", "bicycle")
PLACES = ("cellar", "harbour", "library", "workshop")
PEOPLE = ("Eva", "Jan", "Marta", "Oskar", "Lena", "Tomas")
LETTERS = "abdefgiklmnoprst"
Clocks = tuple[float, float]
Answer = TypeVar("Answer")


def measure() -> list[Figure]:
    """Both presets, and what is done with a large group once it is in."""
    noise = Noise()
    _embedded(_texts(0, 16))
    with tempfile.TemporaryDirectory() as folder:
        figures = _moved("strict", ENTRIES, Path(folder), noise) + _moved("inform", INFORM, Path(folder), noise)
        figures += _taken(Path(folder))
    print(noise, file=sys.stderr)
    return figures


def _moved(policy: str, count: int, home: Path, noise: Noise) -> list[Figure]:
    size = count // PARTS
    loads: list[Clocks] = []
    shares: list[Clocks] = []
    with Keep.open(policy, home=home, policy=policy, embedder=default, background=False) as keep:
        keep.remember("The rules are read before anything is measured.", via="user")
        for part in range(PARTS):
            noise.sample()
            texts = _texts(part * size, size)
            sample = texts[:: max(1, size // ALONE)]
            alone = [one / len(sample) for one in _timed(partial(_embedded, sample))]
            wall, cpu = (one / size for one in _timed(partial(_load, keep, texts)))
            loads.append((wall, cpu))
            shares.append((alone[0] / wall, alone[1] / cpu))
            print(
                f"{policy}: {(part + 1) * size:,} in, {shares[-1][0]:.2f} by the wall, {shares[-1][1]:.2f} by CPU",
                file=sys.stderr,
            )
    wall, cpu = (statistics.median(clock) for clock in zip(*shares, strict=True))
    named = f"{policy}, {count:,} entries"
    return [
        Figure(f"{named}: throughput to the embedder's, by the wall", wall, "", least=LEAST),
        Figure(f"{named}: the same by CPU time", cpu, "", least=LEAST),
        Figure(f"{named}: CPU an entry", statistics.median(cpu for _, cpu in loads) * 1000, "ms"),
        Figure(f"{named}: the last part to the first, CPU", loads[-1][1] / loads[0][1], "times", bound=1.3),
    ]


def _embedded(texts: list[str]) -> None:
    """The embedder alone, given what these texts are embedded as: each as a whole and in its parts, by length."""
    pieces = sorted((text[start:end] for text in texts for start, end in windows(text)), key=len)
    for at in range(0, len(pieces), PORTION):
        default().embed(pieces[at : at + PORTION], "passage")


def _load(keep: Keep, texts: list[str]) -> None:
    records = [{"id": f"id-{text}", "memory": text, "created_at": "2024-05-01T10:00:00Z"} for text in texts]
    report = moving.Report("mem0", "mem0:bench")
    entries = moving.planned(stores.mem0(json.dumps(records)), report, keep.settings, datetime.now(UTC))
    with _bar(len(entries)) as tell:
        moving.move(keep, entries, report, tell=tell)
    if report.told["held"] + report.told["stored"] != len(texts):
        raise SystemExit(f"not everything came in: {report.told}")


def _taken(home: Path) -> list[Figure]:
    """A group as large as half of what came in, without an embedder: its own cost is the figure above."""
    with Keep.open("strict", home=home, embedder=lambda: None, background=False) as keep:
        (group,), listing = _answered(keep.review.noted)
        chosen, left = ENTRIES // 2, {item.id for item in group.items[ENTRIES // 2 :]}
        told, taking = _answered(
            lambda: keep.review.approve_group(group.key, by="bench", reason="measured", excepted=left)
        )
        given, giving = _answered(lambda: keep.review.undo_group(group.key, by="bench", reason="measured"))
        if not len(told) == len(given) == chosen or {*told.values(), *given.values()} != {"done"}:
            raise SystemExit("not everything was taken over and given back")
    return [
        Figure(f"listing the groups of {ENTRIES:,}, first time", listing, "s CPU"),
        Figure(f"taking {chosen:,} over, for each", taking / chosen * 1000, "ms CPU"),
        Figure(f"giving {chosen:,} back, for each", giving / chosen * 1000, "ms CPU"),
    ]


def _answered(call: Callable[[], Answer]) -> tuple[Answer, float]:
    started = time.process_time()
    return call(), time.process_time() - started


def _timed(call: Callable[[], object]) -> Clocks:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    with Progress(console=Console(file=io.StringIO(), force_terminal=True)) as bar:
        task = bar.add_task("moving in", total=total)
        yield lambda done: bar.update(task, completed=done)


def _texts(first: int, count: int) -> list[str]:
    return [
        f"The {THINGS[at % 5]} of {_name(at)} in the {PLACES[at % 4]} belongs to {PEOPLE[at % 6]}, "
        "who bought it second-hand in Brno."
        for at in range(first, first + count)
    ]


def _name(number: int) -> str:
    """A made-up name; figures would be looked at one by one."""
    return "".join(LETTERS[int(digit, 16)] for digit in f"{number:05x}").capitalize()
