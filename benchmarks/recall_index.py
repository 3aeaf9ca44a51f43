"""What the index itself costs at 10,000 and 100,000 memories, embedding excluded, against the bare numpy product."""

from __future__ import annotations

import gc
import random
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Figure, cpu_per_call, median_ratio
from truekeep.search import Index, Query, describe, pack

DIM = 384
MODEL = "all-MiniLM-L6-v2-onnx-int8"
TODAY = date(2026, 3, 1)
Floats = NDArray[np.float32]


def measure(sizes: tuple[int, ...] = (10_000, 100_000)) -> list[Figure]:
    """The figures of each size."""
    return [figure for size in sizes for figure in _measure(size)]


def _measure(size: int) -> list[Figure]:
    texts, vectors = _made_up(size + 100)
    entries = [
        (seq, describe(texts[seq], thread=f"s{seq // 20}", day=TODAY).to_bytes(MODEL, pack(vectors[seq])))
        for seq in range(size)
    ]
    asked = [_noisy(vectors[seq]) for seq in range(40)]
    index = Index(model_id=MODEL, dim=DIM)
    gc.collect()
    before = _resident()
    loading = _timed(lambda: index.load(entries))
    grown = _resident() - before
    questions = [index.understand(" ".join(texts[seq].split()[::2]), today=TODAY) for seq in range(40)]
    nothing = index.understand("", today=TODAY)
    turn = _turns(40)
    found = cpu_per_call(
        {
            "product": lambda: vectors[:size] @ asked[turn()],
            "vectors": lambda: index.search(nothing, 10, vector=asked[turn()], floor=0),
            "hybrid": lambda: _ask(index, questions, asked, turn()),
        },
        rounds=40,
        repeat=1,
    )
    adding, after = _after_writes(index, texts, vectors, size, questions, asked)
    hybrid = statistics.median(found["hybrid"])
    large = size > 20_000
    return [
        Figure(f"recall, hybrid, {size:,}", 1000 * hybrid, "ms CPU", 15 if large else 4),
        Figure(
            f"vectors alone / bare numpy product, {size:,}", median_ratio(found["vectors"], found["product"]), "x", 2
        ),
        Figure(f"bare numpy product, {size:,}", 1000 * statistics.median(found["product"]), "ms CPU"),
        Figure(f"right after a write / steady, {size:,}", after, "x", 1.2),
        Figure(f"add to the index, {size:,}", 1000 * adding, "ms CPU"),
        Figure(f"load the index, {size:,}", 1000 * loading, "ms CPU"),
        Figure(f"resident memory of the index, {size:,}", grown / 1e6, "MB", 250),
        Figure(
            f"vector recall@10 missed against exact search, {size:,}",
            1 - _agreement(index, vectors[:size], asked),
            "",
            0.02,
        ),
    ]


def _ask(index: Index, questions: list[Query], asked: list[Floats], turn: int) -> object:
    return index.search(questions[turn], 10, vector=asked[turn])


def _after_writes(
    index: Index, texts: list[str], vectors: Floats, size: int, questions: list[Query], asked: list[Floats]
) -> tuple[float, float]:
    """The time of an add, and how much longer a recall takes right after one than the same recall before it."""
    adding, ratios = [], []
    for turn in range(40):
        card = describe(texts[size + turn], thread=f"s{turn}", day=TODAY)
        _ask(index, questions, asked, turn)
        steady = _timed(lambda turn=turn: _ask(index, questions, asked, turn))  # type: ignore[misc]
        adding.append(_timed(lambda card=card, seq=size + turn: index.add(seq, card, vectors[seq])))  # type: ignore[misc]
        after = _timed(lambda turn=turn: _ask(index, questions, asked, turn))  # type: ignore[misc]
        ratios.append(after / steady)
    return statistics.median(adding), statistics.median(ratios)


def _agreement(index: Index, vectors: Floats, asked: list[Floats]) -> float:
    """Which share of the true ten nearest the index's vectors give, scanned and rescored as a search does."""
    state = index._state.matrix
    assert state is not None
    shares = []
    for query in asked[:20]:
        true = set(np.argsort(-(vectors @ query))[:10].tolist())
        near = np.argsort(-state.scan(query)[: len(vectors)])[:74]
        best = near[np.argsort(-state.exact(near, query))[:10]]
        shares.append(len(true & set(best.tolist())) / 10)
    return statistics.mean(shares)


def _made_up(count: int) -> tuple[list[str], Floats]:
    chance, numbers = random.Random(3), np.random.default_rng(3)  # noqa: S311
    words = [f"w{number:05d}" for number in range(30_000)]
    weights = np.cumsum(1 / np.arange(1, 30_001)).tolist()
    texts = [" ".join(chance.choices(words, cum_weights=weights, k=14)) for _ in range(count)]
    vectors = numbers.standard_normal((count, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return texts, vectors


def _noisy(vector: Floats) -> Floats:
    moved = vector + np.random.default_rng(5).standard_normal(DIM).astype(np.float32) * np.float32(0.03)
    return np.asarray(moved / np.linalg.norm(moved), dtype=np.float32)


def _turns(count: int) -> Callable[[], int]:
    state: dict[str, Any] = {"turn": 0}

    def turn() -> int:
        state["turn"] = (state["turn"] + 1) % count
        return int(state["turn"])

    return turn


def _timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    for figure in measure(tuple(map(int, sys.argv[1:])) or (10_000, 100_000)):
        bound = "" if figure.bound is None else f"(at most {figure.bound:g})"
        print(f"{figure.name:62} {figure.value:9.3f} {figure.unit} {bound}")
