"""The hits of a recall as the library has them: its own limits and its own k, with every signal that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from truekeep.config import PAGE_CAP
from truekeep.read.recall import Filters
from truekeep.serve.rest.models import BACKGROUND, HitBody, Moment, Name, Strict
from truekeep.serve.rest.records import hit_of
from truekeep.types import Recalled

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease


class RecallLimitsBody(Strict):
    """What an answer is limited to; an empty list limits nothing. Filters are never relaxed."""

    kinds: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)
    topics: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)
    entities: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)
    channels: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)
    since: Moment | None = None
    until: Moment | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class RecallQuestionBody(Strict):
    """A question to the memories."""

    query: str
    k: int = 5
    influence_only: bool = Field(default=False, description="Only what may drive an action.")
    min_score: float | None = None
    half_life_days: float | None = None
    as_of: Moment | None = Field(default=None, description="How things stood at another moment.")
    filters: RecallLimitsBody | None = None
    explain: bool = False
    session: Name | None = Field(default=None, description="The session that is shown the answer.")
    background: bool | None = Field(default=None, description=BACKGROUND)
    max_chars: int | None = Field(default=None, description="A budget for the texts of the answer.")


class RecalledBody(HitBody):
    """A memory that answers, with everything the library says of it."""

    verified: bool
    explain: dict[str, float]
    whole: str | None = Field(default=None, description="The whole passage, where the text is a part of it.")


class RecallAnswerBody(BaseModel):
    """What answers, best first, and how much was withheld for which reason."""

    hits: list[RecalledBody]
    withheld: dict[str, int]
    degraded: str


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
