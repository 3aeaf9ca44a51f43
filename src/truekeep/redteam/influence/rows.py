"""The battery's outcomes as rows: what all attacks together got, on keeps of one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truekeep.redteam.influence.outcome import Outcome, totals
from truekeep.redteam.row import Row


def rows_of(outcomes: Sequence[Outcome], encoder: str, size: int) -> Iterator[Row]:
    """One row for each thing an attack can get; those that got any are named."""
    for metric, rate in totals(outcomes).items():
        broken = [one.attack for one in outcomes if not one and not one.unsound]
        detail = {"broken": broken} if metric == "won" else {}
        yield Row(
            part="influence",
            metric=metric,
            hits=rate.hits,
            total=rate.total,
            encoder=encoder,
            size=size,
            attack="battery",
            detail=detail,
        )
    unsound = [f"{one.attack}: {one.unsound}" for one in outcomes if one.unsound]
    yield Row(
        part="influence",
        metric="not_played",
        hits=len(unsound),
        total=len(outcomes),
        encoder=encoder,
        size=size,
        attack="battery",
        detail={"why": unsound},
    )
