"""The contest that every peer runs: fill, recall, recall after a write, add, open again. Stands alone.

Run by the peer's own interpreter, so it may import nothing but numpy and the standard library::

    python benchmarks/peers/chroma_peer.py DATA HOME fill|open SIZE SECONDS

DATA holds ``texts.json``, ``vectors.npy``, ``questions.json`` and ``question_vectors.npy``. Embedding is
excluded for everyone alike: the embedder is a table from text to vector. Times are CPU time of the process.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
    """Hold one half of the contest and print its figures as one line of JSON.

    The second half runs in a fresh process, so that nothing the first half cached helps it to open.
    """
    data, home, half = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    size, seconds = int(sys.argv[4]), float(sys.argv[5])
    course = Course.read(data, size)
    figures: dict[str, Any] = {"name": name, "version": version(package), "size": size, "note": note}
    try:
        peer = partial(start, home, course.table, seconds)
        figures |= _filled(peer(), course) if half == "fill" else _opened(peer, course)
    except OutOfTimeError as reason:
        figures["failed"] = str(reason)
    print(json.dumps(figures))


@dataclass(frozen=True)
class Course:
    """The texts and questions of a contest with their vectors."""

    texts: list[str]
    vectors: Any
    extra: list[str]
    extra_vectors: Any
    questions: list[str]
    asked: Any

    @classmethod
    def read(cls, data: Path, size: int) -> Course:
        texts = json.loads((data / "texts.json").read_text())
        vectors = np.load(data / "vectors.npy")
        questions = json.loads((data / "questions.json").read_text())[:QUESTIONS]
        asked = np.load(data / "question_vectors.npy")[:QUESTIONS]
        return cls(texts[:size], vectors[:size], texts[-ADDS:], vectors[-ADDS:], questions, asked)

    @property
    def table(self) -> Table:
        """The embedder that knows all of them."""
        return Table([*self.texts, *self.extra, *self.questions], [*self.vectors, *self.extra_vectors, *self.asked])


def _filled(peer: Peer, course: Course) -> dict[str, float]:
    before = _resident()
    filling = _timed(lambda: peer.fill(course.texts, course.vectors))
    peer.recall(course.questions[0], course.asked[0], 10)
    grown = _resident() - before
    count = len(course.questions)
    recalls = [_timed(_asking(peer, course, number)) for number in range(1, count)]
    adds, afters = [], []
    for place, (text, vector) in enumerate(zip(course.extra, course.extra_vectors, strict=True)):
        adds.append(_timed(partial(peer.add, text, vector)))
        afters.append(_timed(_asking(peer, course, 1 + place % (count - 1))))
    peer.close()
    return {
        "fill_ms": 1000 * filling / len(course.texts),
        "recall_ms": 1000 * statistics.median(recalls),
        "after_write_ms": 1000 * statistics.median(afters),
        "add_ms": 1000 * statistics.median(adds),
        "resident_mb": grown / 1e6,
    }


def _opened(start: Callable[[], Peer], course: Course) -> dict[str, float]:
    return {"open_ms": 1000 * _timed(lambda: start().recall(course.questions[0], course.asked[0], 10))}


def _asking(peer: Peer, course: Course, number: int) -> Callable[[], object]:
    return partial(peer.recall, course.questions[number], course.asked[number], 10)


def _timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
