"""What proof costs: recall among what may act, the act boundary, and the claims in a write."""

from __future__ import annotations

import itertools
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import Figure, cpu_per_call, median_ratio
from truekeep import Keep
from truekeep.trust.influence import claim_of, hearsay_marks

SIZE = int(os.environ.get("TRUEKEEP_BENCH_SIZE", "10000"))
OBSERVED = 200
NAMES = ("Northwind", "Lipa", "Kestrel", "Marlow", "Tatran", "Birch", "Ostrava Steel", "Fenwick", "Halden", "Quince")
FACTS = (
    "{name} {n}'s account is {a}-{b}.",
    "{name} {n} delivers to Nitra on day {b} of the month.",
    "The contact at {name} {n} is reachable at desk{a}@{slug}{n}.example.",
    "{name} {n} gave us a discount of {b} percent.",
    "Invoices of {name} {n} are due after {b} days.",
)
CALL = {"payee": "Northwind 7", "amount": 300, "account": "1007-77", "note": "invoice for March"}


def measure() -> list[Figure]:
    with (
        tempfile.TemporaryDirectory() as folder,
        _keywords_only(),
        Keep.open("bench", home=Path(folder), policy="inform") as keep,
    ):
        _fill(keep)
        return [*_recall(keep), *_boundary(keep), *_writes(keep)]


@contextmanager
def _keywords_only() -> Iterator[None]:
    """Embedding is not what is measured here."""
    before = os.environ.get("TRUEKEEP_EMBEDDER")
    os.environ["TRUEKEEP_EMBEDDER"] = "none"
    yield
    os.environ.pop("TRUEKEEP_EMBEDDER")
    if before is not None:
        os.environ["TRUEKEEP_EMBEDDER"] = before


def _fact(number: int) -> str:
    chance = random.Random(number)  # noqa: S311 - a benchmark needs the same texts every time
    name = chance.choice(NAMES)
    slug = name.split(maxsplit=1)[0].casefold()
    fact = FACTS[number % len(FACTS)]
    return fact.format(name=name, n=number, slug=slug, a=chance.randrange(1000, 9999), b=chance.randrange(10, 99))


def _fill(keep: Keep) -> None:
    for start in range(0, SIZE, 1_000):
        # Four fifths are the owner's, one fifth is hearsay.
        for via, rest in (("user", range(4)), ("web", range(4, 5))):
            texts = [_fact(n) for n in range(start, min(start + 1_000, SIZE)) if n % 5 in rest]
            keep.remember_many(texts, via=via, skip_rejected=True)
    keep.remember("Northwind 7's account is 1007-77.", via="user")


def _recall(keep: Keep) -> list[Figure]:
    words = itertools.cycle(
        ["account of Kestrel 120", "who delivers to Nitra", "Fenwick discount", "due invoices Birch"]
    )
    calls: dict[str, Callable[[], object]] = {
        "plain": lambda: keep.recall(next(words), k=10),
        "acting": lambda: keep.recall(next(words), k=10, influence_only=True),
    }
    found = cpu_per_call(calls, rounds=15, repeat=20)
    size = f"{SIZE:,} memories"
    return [
        Figure(f"plain recall at {size}", statistics.median(found["plain"]) * 1e3, "ms CPU"),
        Figure(f"influence_only / plain recall at {size}", median_ratio(found["acting"], found["plain"]), "x", 1.15),
    ]


def _boundary(keep: Keep) -> list[Figure]:
    session = keep.session("bench", mediated=True)
    for number in range(OBSERVED):
        page = " ".join(_fact(50_000 + 8 * number + part) for part in range(8))
        session.observe("web", page, principal=f"page{number}.example")
    session.observe("user", "Please pay Northwind 7 300 euros")
    started = time.process_time()
    answer = session.check_action("pay", CALL)
    first = time.process_time() - started
    if answer.matched == ():
        raise AssertionError("the call was to be proved by a memory")
    numbers = itertools.count(1)

    def check() -> None:
        # Another amount, account and note each time, so that nothing was looked up before.
        n = next(numbers)
        session.check_action("pay", CALL | {"amount": 300 + n, "account": f"{2000 + n}-{n}", "note": f"invoice {n}"})

    cold = cpu_per_call({"check": check}, rounds=15, repeat=20)
    found = cpu_per_call({"check": check}, rounds=15, repeat=20)
    size = f"{SIZE:,} memories, {OBSERVED} texts observed"
    return [
        Figure(f"first check_action of a process, {size}", first * 1e3, "ms CPU"),
        Figure(
            "check_action while memories are read for the first time", statistics.median(cold["check"]) * 1e3, "ms CPU"
        ),
        Figure(f"check_action, ticket written, {size}", statistics.median(found["check"]) * 1e3, "ms CPU", 2.0),
    ]


def _writes(keep: Keep) -> list[Figure]:
    numbers = itertools.count(900_000)

    def claims() -> None:
        text = _fact(next(numbers))
        claim_of(text)
        hearsay_marks(text)

    calls: dict[str, Callable[[], object]] = {
        "write": lambda: keep.remember(_fact(next(numbers)), via="user"),
        "claims": claims,
    }
    found = cpu_per_call(calls, rounds=15, repeat=20)
    return [
        Figure(
            f"write at {SIZE:,} memories, all of it but the embedding",
            statistics.median(found["write"]) * 1e3,
            "ms CPU",
            2.5,
        ),
        Figure("of which reading claims and values", statistics.median(found["claims"]) * 1e3, "ms CPU", 1.0),
    ]
