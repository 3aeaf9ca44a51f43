"""The hits of a recall as the library has them: its own limits and its own k, with every signal that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truekeep.read.recall import Filters
from truekeep.serve.pool import Lease
from truekeep.serve.rest.records import hit_of
from truekeep.types import Recalled

if TYPE_CHECKING:
    from truekeep.serve.rest.memories import RecallLimitsBody, RecallQuestionBody


def answered(lease: Lease, question: RecallQuestionBody) -> dict[str, Any]:
    """What answers a question, as the body of an answer."""
    hits = lease.handle.recall(
        question.query,
        **question.model_dump(exclude={"query", "filters", "session"}),
        filters=_filters(question.filters) if question.filters else None,
    )
    return {"hits": [members_of(hit) for hit in hits], "withheld": hits.withheld, "degraded": hits.degraded}


def _filters(limits: RecallLimitsBody) -> Filters:
    return Filters(
        kinds=frozenset(limits.kinds),
        topics=frozenset(limits.topics),
        entities=frozenset(limits.entities),
        channels=frozenset(limits.channels),
        since=limits.since,
        until=limits.until,
        metadata=limits.metadata,
    )


def members_of(hit: Recalled) -> dict[str, Any]:
    """Everything the library says of a hit."""
    return hit_of(hit) | {
        "verified": hit.memory.verified,
        "explain": dict(hit.explain),
        "whole": hit.memory.text if hit.window is not None and hit.text != hit.memory.text else None,
    }
