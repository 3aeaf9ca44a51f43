"""Loading much: batch after batch through the gate, the next one embedded while one is stored."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from truekeep.catalog import Catalog
from truekeep.gate import Gate
from truekeep.judging import Vectors
from truekeep.types import Candidate, Verdict


class Portion(NamedTuple):
    """Candidates that are stored in one transaction, and the mark that is audited with them."""

    candidates: Sequence[Candidate]
    mark: str | None


def load(portions: Iterable[Portion], gate: Gate, catalog: Catalog) -> Generator[list[Verdict], None, None]:
    """The verdicts of each portion in turn; what is rejected is left out and the rest is stored.

    A portion that cannot be read ends the load with its error, after those before it were stored.
    """
    waiting: tuple[Portion, Future[Vectors]] | None = None
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="truekeep-load")
    remaining, failure = iter(portions), None
    try:
        while True:
            try:
                portion = next(remaining, None)
            except Exception as error:
                portion, failure = None, error
            ahead = (portion, pool.submit(_embedded, catalog, portion.candidates)) if portion else None
            if waiting is not None:
                yield _admitted(gate, *waiting)
            waiting = ahead
            if waiting is None:
                break
    finally:
        pool.shutdown(cancel_futures=True)
    if failure is not None:
        raise failure


def _embedded(catalog: Catalog, candidates: Sequence[Candidate]) -> Vectors:
    return list(catalog.vectors(candidates))


def _admitted(gate: Gate, portion: Portion, vectors: Future[Vectors]) -> list[Verdict]:
    return gate.admit_all(portion.candidates, skip_rejected=True, mark=portion.mark, vectors=vectors.result())
