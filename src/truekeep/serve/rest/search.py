"""Search: the memories that answer a query within filters that are never relaxed, with recency if it is asked for."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from truekeep.config import NAME_CAP, QUERY_CAP
from truekeep.read.recall import Recall
from truekeep.serve.rest.filters import Accessed, FilterLimits
from truekeep.serve.rest.listed import accesses, within
from truekeep.serve.rest.models import BACKGROUND, Hits, Moment, Switch
from truekeep.serve.rest.records import hit_of, record_of
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller
from truekeep.trust.origin import AGENT
from truekeep.types import Recalled

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease

router = resource("/v1/long-term-memory", "long-term memory")

Weight = Annotated[float, Field(ge=0, le=1)]
Days = Annotated[float, Field(gt=0, le=36_500)]
_DAY = 86_400.0
_NO_ANSWER: dict[str, Any] = {"dist": 1.0, "score": 0.0, "newer": None, "window": None}
"""What is said of a memory that answers no question."""


class Search(FilterLimits):
    """A query with its limits and its wish for recency."""

    text: str | None = Field(default=None, max_length=QUERY_CAP)
    limit: int = Field(default=10, ge=1, le=100)
    offset: int = Field(default=0, ge=0, le=800)
    distance_threshold: float | None = Field(default=None, ge=0, le=2)
    recency_boost: bool | None = None
    recency_semantic_weight: Weight | None = None
    recency_recency_weight: Weight | None = None
    recency_freshness_weight: Weight | None = None
    recency_novelty_weight: Weight | None = None
    recency_half_life_last_access_days: Days | None = None
    recency_half_life_created_days: Days | None = None
    server_side_recency: bool | None = None
    influence_only: bool = Field(default=False, description="Only what may drive an action.")
    as_of: Moment | None = Field(default=None, description="How things stood at another moment.")
    session: str | None = Field(default=None, max_length=NAME_CAP, description="The session that is shown the answer.")
    background: bool | None = Field(default=None, description=BACKGROUND)
    max_chars: int | None = Field(
        default=None, ge=0, description="A budget for the texts of this page and of those before it."
    )


@router.post("/search", response_model=Hits)
def search(
    body: Search, call: Caller, optimize_query: Annotated[Switch, Query(description="Taken, and not needed.")] = False
) -> Response:
    """The memories that answer a query, best first. Without a text, the newest within the filters."""
    del optimize_query
    with call.lease(session=body.session) as lease:
        return JSONResponse(found(lease, body))


def found(lease: Lease, body: Search) -> dict[str, Any]:
    """What a search finds, as the body of an answer."""
    if body.text is None or not any(mark.isalnum() for mark in body.text):
        (listed, withheld), degraded = _newest(lease, body), ""
    else:
        hits = recalled(lease, body)
        listed, withheld, degraded = [hit_of(hit) for hit in hits], hits.withheld, hits.degraded
    page = listed[body.offset : body.offset + body.limit]
    more = len(listed) > body.offset + body.limit
    return {
        "memories": page,
        "total": len(listed),
        "next_offset": body.offset + body.limit if more else None,
        "withheld": withheld,
        "degraded": degraded,
    }


def recalled(lease: Lease, body: Search) -> Recall:
    """One hit more than the page needs, in the order that was asked for."""
    accessed = accesses(lease)
    threshold = body.distance_threshold
    half_life = body.recency_half_life_created_days if body.recency_boost else None
    hits = lease.handle.recall(
        body.text or "",
        k=body.offset + body.limit + 1,
        influence_only=body.influence_only,
        background=body.background,
        max_chars=body.max_chars,
        min_score=max(0.0, 1.0 - threshold) if threshold is not None else None,
        half_life_days=half_life,
        as_of=body.as_of,
        filters=body.as_filters(accessed),
    )
    if body.recency_boost:
        # Among what recall chose only: however new, what may not act gets no more than its share.
        return Recall(sorted(hits, key=lambda hit: -recency(hit, body, accessed)), hits.withheld, hits.degraded)
    return hits


def recency(hit: Recalled, body: Search, accessed: Accessed) -> float:
    """The weighted sum of how well a hit answers and of how new it is."""
    now = datetime.now(UTC)
    last = accessed(hit.memory.id) or hit.memory.created_at
    fresh = _decay(now, last, body.recency_half_life_last_access_days or 7.0)
    novel = _decay(now, hit.memory.created_at, body.recency_half_life_created_days or 30.0)
    freshness = 0.6 if body.recency_freshness_weight is None else body.recency_freshness_weight
    novelty = 0.4 if body.recency_novelty_weight is None else body.recency_novelty_weight
    semantic = 0.8 if body.recency_semantic_weight is None else body.recency_semantic_weight
    weight = 0.2 if body.recency_recency_weight is None else body.recency_recency_weight
    return semantic * hit.score + weight * (freshness * fresh + novelty * novel)


def _decay(now: datetime, moment: datetime, half_life_days: float) -> float:
    days = max(0.0, (now - moment).total_seconds() / _DAY)
    return float(0.5 ** (days / half_life_days))


def _newest(lease: Lease, body: Search) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """What is within the filters, newest first, where no text says what it should be about; and what was left out."""
    background = lease.handle.session is None if body.background is None else body.background
    kept: list[dict[str, Any]] = []
    withheld: Counter[str] = Counter()
    left = body.max_chars
    for one in reversed(within(lease, body)):
        if not one["may_act"] and (body.influence_only or not (background or _is_note(one))):
            reason = "may_not_act" if body.influence_only else "only_informs"
            withheld["blocked" if one["blocked"] else reason] += 1
        elif left is not None and len(one["content"]) > left:
            withheld["over_budget"] += 1
        else:
            left = None if left is None else left - len(one["content"])
            kept.append(record_of(one) | _NO_ANSWER | {name: one[name] for name in ("gist", "question")})
    return kept, dict(withheld)


def _is_note(shown: dict[str, Any]) -> bool:
    """Whether the agent wrote it down while nothing foreign was in sight."""
    return shown["origin"]["channel"] == AGENT and shown["standing"] == "enrolled" and not shown["blocked"]
