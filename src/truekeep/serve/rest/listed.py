"""Listed memories within filters: what a search without words and a forgetting pass look through."""

from __future__ import annotations

from typing import Any

from truekeep.serve.pool import Lease
from truekeep.serve.rest.filters import FilterLimits
from truekeep.types import Memory, Origin, Standing, utc_moment


def within(lease: Lease, limits: FilterLimits) -> list[dict[str, Any]]:
    """Every memory that the filters admit, oldest first, as the listing shows it."""
    from truekeep.serve.rest.search import accesses  # noqa: PLC0415 - the two ask each other

    accessed = accesses(lease)
    return [one for one in lease.handle.get_memories() if limits.admit(_memory(one), accessed)]


def _memory(shown: dict[str, Any]) -> Memory:
    """As much of a listed memory as filters look at."""
    origin = Origin(shown["origin"]["channel"], session=shown["origin"].get("session"))
    return Memory(
        id=shown["id"],
        text="",
        standing=Standing.HEARSAY,
        origin=origin,
        created_at=utc_moment(shown["created_at"]),
        as_of=utc_moment(shown["as_of"]),
        kind=shown["kind"],
        topics=tuple(shown["topics"]),
        entities=tuple(shown["entities"]),
        metadata=shown["metadata"],
    )
