"""Say when a remembered value is too old to be relied on without a look."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from truekeep.action.index import Hit
from truekeep.action.model import MemoryTrust
from truekeep.action.settings import ActionSettings
from truekeep.text.language import read_table


@cache
def _days() -> tuple[dict[str, int], dict[str, int]]:
    table = read_table("actions", "freshness.toml")
    return table["attributes"], table["kinds"]


def is_stale(hit: Hit, trust: MemoryTrust, now: datetime, settings: ActionSettings) -> bool:
    """Whether the memory is older than its attribute, its kind of value or the operator allows."""
    attributes, kinds = _days()
    words = (*hit.segment.attribute, *hit.segment.order)
    limits: list[float] = [attributes[word] for word in words if word in attributes]
    if hit.salient is not None and hit.salient.kind in kinds:
        limits.append(kinds[hit.salient.kind])
    if settings.freshness_days is not None:
        limits = [settings.freshness_days]
    return bool(limits) and now - trust.as_of > timedelta(days=min(limits))
