"""What recall costs through the whole keep: encrypted, verified, screened, audited. Each figure beside its bound.

    python -m benchmarks.recall_keep [--sizes 10000 100000] [--memories F.jsonl --questions F.jsonl [--e5 DIRECTORY]]

Times are CPU time of one thread, medians, embedding excluded except where it says otherwise. With the two files it
also measures how much of the evidence recall finds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

from rich.console import Console

from benchmarks import recall_quality
from benchmarks.harness import Figure, Noise, cpu_per_call, median_ratio, table
from benchmarks.recall_fresh import ask
from benchmarks.recall_world import Floats, World, made
from truekeep import Keep
from truekeep.config import Paths
from truekeep.embed import default
from truekeep.search.matrix import Matrix
from truekeep.stores.files import database_path
from truekeep.stores.keys import Keyring
from truekeep.stores.sqlite import connect

ROUNDS = 40
LARGE = 50_000
SENTENCES = (
    "{who} moved the {what} from the {place} to the attic on a rainy Tuesday and forgot to tell anybody about it.",
    "On Sundays {who} walks around the {place} with two neighbours and talks about the {what} that nobody repairs.",
    "The {what} in the {place} belongs to {who}, who bought it second-hand in Brno for less than forty euros.",
    "{who} prefers the {place} in winter, because the {what} there is quiet and the coffee costs half as much.",
)
WORDS = {
    "who": ("Eva", "Jan", "Marta", "Oskar", "Lena", "Tomas", "Ida", "Viktor"),
    "what": ("piano", "sewing machine", "greenhouse", "telescope", "bicycle", "loom", "radio", "canoe"),
    "place": ("cellar", "harbour", "library", "workshop", "orchard", "station", "market", "theatre"),
}


def measure() -> list[Figure]:
    """The figures at 10,000 memories, and of a bulk load."""
    return [*_at(10_000), *_bulk()]


def _at(size: int) -> list[Figure]:
    print(f"filling a keep with {size:,} memories …", file=sys.stderr)
    with made(size) as world:
        return [*_searching(world), *(_large(world) if size >= LARGE else _opening(world) + _following(world))]


def _searching(world: World) -> list[Figure]:
    size, turn = len(world.texts), _turns(len(world.questions))
    with world.open() as keep:
        keep.recall(world.questions[0])
        index = keep._catalog._current()
        nothing = index.understand("", today=keep._clock().date())
        found = cpu_per_call(
            {
                "product": lambda: world.vectors @ world.asked[turn()],
                "vectors": lambda: index.search(nothing, 10, vector=world.asked[turn()], floor=0),
                "hybrid": lambda: keep.recall(world.questions[turn()], k=10),
            },
            rounds=ROUNDS,
            repeat=1,
        )
    ratio = median_ratio(found["vectors"], found["product"])
    return [
        Figure(f"recall, hybrid, {size:,}", _ms(found["hybrid"]), "ms CPU", 15 if size >= LARGE else 4),
        Figure(f"vectors alone / bare numpy product, {size:,}", ratio, "x", 2),
        Figure(f"bare numpy product, {size:,}", _ms(found["product"]), "ms CPU"),
    ]


def _following(world: World) -> list[Figure]:
    """The same question before a write and right after it, and the write itself."""
    size, steady, adding, after = len(world.texts), [], [], []
    with world.open() as keep:
        for turn, text in enumerate(world.extra):
            question = world.questions[turn % len(world.questions)]
            keep.recall(question, k=10)
            steady.append(_timed(lambda: keep.recall(question, k=10)))  # noqa: B023 - called at once
            adding.append(_timed(lambda: keep.remember(text, via="user")))  # noqa: B023
            after.append(_timed(lambda: keep.recall(question, k=10)))  # noqa: B023
    return [
        Figure(f"right after a write / steady, {size:,}", median_ratio(after, steady), "x", 1.2),
        Figure(f"durable single add, {size:,}", _ms(adding), "ms CPU", 2.5),
    ]


def _opening(world: World) -> list[Figure]:
    size = len(world.texts)
    fresh = [ask("open", world.home, size) for _ in range(7)]
    paths = Paths.resolve(world.home)
    keys = Keyring(paths.keys).open("bench")

    def unverified() -> None:
        connection = connect(database_path(paths, "bench"), keys.file, keys.cipher)
        connection.execute("SELECT * FROM memories ORDER BY seq").fetchall()
        connection.execute("SELECT * FROM events ORDER BY seq").fetchall()
        connection.close()

    def verified() -> None:
        with world.open():
            pass

    found = cpu_per_call({"unverified": unverified, "verified": verified}, rounds=9, repeat=1)
    ratio = median_ratio(found["verified"], found["unverified"])
    return [
        Figure(f"open and answer, {size:,}", _ms([one["answer"] for one in fresh]), "ms CPU", 150),
        Figure(f"of that, the verified open, {size:,}", _ms([one["open"] for one in fresh]), "ms CPU", 150),
        Figure(f"verified open / unverified read of the same rows, {size:,}", ratio, "x", 5),
    ]


def _large(world: World) -> list[Figure]:
    """What an exact float product in place of the scan would cost, and how often the answers agree."""
    size, turn = len(world.texts), _turns(len(world.questions))
    grown = statistics.median(ask("memory", world.home, size)["grown"] for _ in range(3))

    def exact(matrix: Matrix, query: Floats) -> Floats:
        return world.vectors[: matrix.size] @ query

    with world.open() as keep:
        answers = [_places(keep, question) for question in world.questions]
        with mock.patch.object(Matrix, "scan", exact):
            expected = [_places(keep, question) for question in world.questions]
            times = [_timed(lambda: keep.recall(world.questions[turn()], k=10)) for _ in range(ROUNDS)]
    shares = [len(found & true) / len(true) for found, true in zip(answers, expected, strict=True) if true]
    return [
        Figure(f"recall, hybrid, exact product instead of the scan, {size:,}", _ms(times), "ms CPU", 30),
        Figure(f"of its hits, found by the scan, {size:,}", statistics.mean(shares), "", least=0.98),
        Figure(f"resident memory above the idle embedder, {size:,}", grown / 1e6, "MB", 250),
    ]


def _places(keep: Keep, question: str) -> set[int]:
    return {hit.memory.seq for hit in keep.recall(question, k=10)}


def _bulk(count: int = 1_600, batch: int = 200, rounds: int = 3) -> list[Figure]:
    """A load with the default embedder beside that embedder by itself, on the same texts, by turns."""
    embedder, texts = default(), _sentences(count)
    portions = [texts[first : first + batch] for first in range(0, count, batch)]
    embedder.embed(texts[:32], "passage")
    wall: list[float] = []
    cpu: list[float] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder, Keep.open("bulk", home=Path(folder), embedder=default) as keep:
            keep.remember("The rules are read before anything is measured.", via="user")
            alone = _both_clocks(lambda: [embedder.embed(portion, "passage") for portion in portions])
            loaded = _both_clocks(lambda: list(keep.remember_batches(("user", portion, None) for portion in portions)))
            wall.append(alone[0] / loaded[0])
            cpu.append(alone[1] / loaded[1])
    return [
        Figure("bulk load, share of the embedder's own throughput", statistics.median(wall), "", least=0.9),
        Figure("the same by CPU time", statistics.median(cpu), ""),
    ]


def _sentences(count: int) -> list[str]:
    made_up = []
    for number in range(count):
        words = {name: choice[(number // step) % len(choice)] for step, (name, choice) in enumerate(WORDS.items(), 1)}
        made_up.append(f"{SENTENCES[number % len(SENTENCES)].format(**words)} That was number {number}.")
    return made_up


def _quality(options: argparse.Namespace) -> list[Figure]:
    embedders = {"minilm": 0.72} | ({f"e5:{options.e5}": 0.76} if options.e5 else {})
    return [
        Figure(
            f"recall@10 of the evidence, {name.partition(':')[0]}",
            statistics.mean(recall_quality.measured(options.memories, options.questions, name)["all"]),
            "",
            least=least,
        )
        for name, least in embedders.items()
    ]


def _turns(count: int) -> Callable[[], int]:
    numbers = iter(range(1_000_000))
    return lambda: next(numbers) % count


def _timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def _both_clocks(call: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def _ms(seconds: Sequence[float]) -> float:
    return 1000 * statistics.median(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--memories", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--e5", type=Path)
    options = parser.parse_args()
    noise, figures = Noise(), list[Figure]()
    parts: list[Callable[[], list[Figure]]] = [partial(_at, size) for size in options.sizes]
    if options.memories and options.questions:
        parts.insert(0, partial(_quality, options))
    for part in [*parts, _bulk]:
        noise.sample()
        figures += part()
        noise.sample()
    Console().print(table(figures))
    print(f"noise: {noise}")
    return 0 if all(figure.ok for figure in figures) else 1


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        # numpy reads this when it is imported, which has happened already.
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.recall_keep", *sys.argv[1:]], os.environ | single)  # noqa: S606
    sys.exit(main())
