"""The contest that every peer runs: fill, recall, recall after a write, add, open again. Stands alone.

Run by the peer's own interpreter, so it may import nothing but numpy and the standard library::

    python benchmarks/peers/chroma_peer.py DATA SIZE SECONDS

DATA holds ``texts.json``, ``vectors.npy``, ``questions.json`` and ``question_vectors.npy``. Embedding is
excluded for everyone alike: the embedder is a table from text to vector. Times are CPU time of the process.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

QUESTIONS = 30
ADDS = 20


class Peer(Protocol):
    """What a peer's file provides."""

    def fill(self, texts: Sequence[str], vectors: Any) -> None:
        """Take in many texts, in the quickest way the peer offers."""

    def add(self, text: str, vector: Any) -> None:
        """Take in one text, durably."""

    def recall(self, text: str, vector: Any, k: int) -> object:
        """The best k for a question, in the peer's best mode."""

    def close(self) -> None:
        """Let go of everything."""


class OutOfTimeError(Exception):
    """The filling used up its CPU budget."""


class Table:
    """The embedder of the contest: looks vectors up, so that embedding costs nobody anything."""

    def __init__(self, texts: Sequence[str], vectors: Any) -> None:
        self.rows = dict(zip(texts, vectors, strict=True))

    def __call__(self, text: str) -> list[float]:
        return [float(member) for member in self.rows[text]]


def within(seconds: float, texts: Sequence[str]) -> Callable[[], None]:
    """A check to call after every single write of a slow fill; raises once the budget is used up."""
    started = time.process_time()

    def check() -> None:
        if time.process_time() - started > seconds:
            raise OutOfTimeError(f"more than {seconds:.0f} s of CPU for {len(texts):,} texts")

    return check


def run(name: str, package: str, start: Callable[[Path, Table, float], Peer], note: str = "") -> None:
    """Hold the contest and print its figures as one line of JSON."""
    directory, size, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    texts = json.loads((directory / "texts.json").read_text())
    vectors = np.load(directory / "vectors.npy", mmap_mode="r")
    questions = json.loads((directory / "questions.json").read_text())[:QUESTIONS]
    asked = np.load(directory / "question_vectors.npy")
    extra, extra_vectors = texts[-2 * ADDS :], np.array(vectors[-2 * ADDS :])
    table = Table([*texts[:size], *extra, *questions], [*vectors[:size], *extra_vectors, *asked[: len(questions)]])
    figures: dict[str, Any] = {"name": name, "version": version(package), "size": size, "note": note}
    with tempfile.TemporaryDirectory() as home:
        try:
            figures |= _figures(
                Path(home), table, seconds, start, texts[:size], vectors, questions, asked, extra, extra_vectors
            )
        except OutOfTimeError as reason:
            figures["failed"] = str(reason)
    print(json.dumps(figures))


def _figures(
    home: Path,
    table: Table,
    seconds: float,
    start: Callable[[Path, Table, float], Peer],
    texts: Sequence[str],
    vectors: Any,
    questions: Sequence[str],
    asked: Any,
    extra: Sequence[str],
    extra_vectors: Any,
) -> dict[str, float]:
    peer = start(home, table, seconds)
    before = _resident()
    _, filling = _timed(lambda: peer.fill(texts, np.array(vectors[: len(texts)])))
    peer.recall(questions[0], asked[0], 10)
    grown = _resident() - before
    recalls = [_timed(lambda n=n: peer.recall(questions[n], asked[n], 10))[1] for n in range(1, len(questions))]  # type: ignore[misc]
    adds, afters = [], []
    for place in range(ADDS):
        adds.append(_timed(lambda p=place: peer.add(extra[p], extra_vectors[p]))[1])  # type: ignore[misc]
        asking = 1 + place % (len(questions) - 1)
        afters.append(_timed(lambda n=asking: peer.recall(questions[n], asked[n], 10))[1])  # type: ignore[misc]
    peer.close()
    _, opening = _timed(lambda: start(home, table, seconds).recall(questions[0], asked[0], 10))
    return {
        "fill_ms": 1000 * filling / len(texts),
        "recall_ms": 1000 * statistics.median(recalls),
        "after_write_ms": 1000 * statistics.median(afters),
        "add_ms": 1000 * statistics.median(adds),
        "open_ms": 1000 * opening,
        "resident_mb": grown / 1e6,
    }


def _timed(call: Callable[[], object]) -> tuple[object, float]:
    started = time.process_time()
    result = call()
    return result, time.process_time() - started


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
