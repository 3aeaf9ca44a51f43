"""Listed memories within filters: what a search without words and a forgetting pass look through."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.serve.rest.filters import Accessed, FilterLimits
from truekeep.types import Memory, Origin, Standing, utc_moment

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease


def within(lease: Lease, limits: FilterLimits) -> list[dict[str, Any]]:
    """Every memory that the filters admit, oldest first, as the listing shows it."""
    accessed = accesses(lease)
    return [one for one in lease.handle.get_memories() if limits.admit(_memory(one), accessed)]


def accesses(lease: Lease) -> Accessed:
    """When memories were last shown; each is looked up once."""
    known: dict[str, datetime | None] = {}

    def accessed(memory_id: str) -> datetime | None:
        if memory_id not in known:
            text = lease.keep.get_memory(memory_id)["accessed_at"]
            known[memory_id] = utc_moment(text) if text else None
        return known[memory_id]

    return accessed


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
