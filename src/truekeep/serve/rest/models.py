"""The bodies of memory resources, as clients of the Agent Memory Server send and expect them.

What truekeep adds to an answer stands beside their members. ``user_id``, ``namespace`` and ``role`` are kept for
filters and display; nothing is ever granted by them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MemoryType = Literal["episodic", "semantic", "message"]
Word = Annotated[str, Field(max_length=200)]
Name = Annotated[str, Field(max_length=200)]


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_aware)]


class Body(BaseModel):
    """A body of a client. Members that nobody knows are left alone, as its clients expect."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class NewMemory(Body):
    """One memory on its way in."""

    text: str
    id: Name | None = None
    session_id: Name | None = None
    user_id: Name | None = None
    namespace: Name | None = None
    topics: list[Word] | None = None
    entities: list[Word] | None = None
    memory_type: MemoryType = "message"
    event_date: Moment | None = None
    principal: str | None = Field(default=None, description="Who is behind the channel: a URL, a domain or a name.")
    quote: str | None = Field(default=None, description="The words it was drawn from.")
    parents: list[Name] | None = Field(default=None, description="Memories it was derived from.")
    metadata: dict[str, Any] | None = None
    as_of: Moment | None = Field(default=None, description="Since when it holds.")
    expires_at: Moment | None = None


class NewMemories(Body):
    """A batch: all of it is stored, or nothing."""

    memories: list[NewMemory] = Field(min_length=1, max_length=1_000)
    deduplicate: bool = True


class Edit(Body):
    """What of a memory is to change; what is left out stays."""

    text: str | None = None
    topics: list[Word] | None = None
    entities: list[Word] | None = None
    memory_type: MemoryType | None = None
    namespace: Name | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    event_date: Moment | None = None
    principal: str | None = None
    metadata: dict[str, Any] | None = None


class Finding(BaseModel):
    """What a screen saw. It never holds the matched text."""

    rule: str
    severity: str
    field: str
    screen: str
    reason: str
    span: list[int]
    model_config = ConfigDict(extra="allow")


class VerdictOut(BaseModel):
    """What was decided about one text."""

    success: bool
    decision: Literal["accept", "quarantine", "reject"]
    code: str
    status: str | None = None
    reason: str | None = None
    id: str | None = None
    review_id: str | None = None
    client_id: str | None = None
    findings: list[Finding] = []


class Ack(BaseModel):
    """An acknowledgement; ``status`` is ``ok`` or ``quarantined``."""

    status: str


class Stored(Ack):
    """What became of a batch."""

    memories: list[VerdictOut]


class Record(BaseModel):
    """One memory, with where it came from and whether it may act."""

    id: str
    text: str
    session_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    created_at: str
    updated_at: str
    last_accessed: str
    persisted_at: str | None = None
    event_date: str | None = None
    topics: list[str] = []
    entities: list[str] = []
    memory_type: MemoryType
    memory_hash: str | None = None
    discrete_memory_extracted: Literal["t", "f"] = "t"
    extracted_from: list[str] | None = None
    client_id: str | None = None
    standing: Literal["owner", "enrolled", "hearsay"]
    may_act: bool
    why: str
    blocked: bool
    block_reason: list[str] = []
    origin: dict[str, Any]
    metadata: dict[str, Any] = {}
    as_of: str
    kind: Literal["semantic", "episodic"]
    expires_at: str | None = None
    fades_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    retired_by: str | None = None
    contests: list[str] = []
    version: int


class Hit(Record):
    """A memory that answers a query; ``dist`` is one less its score."""

    dist: float
    score: float


class Hits(BaseModel):
    """What answers a query, and how much was withheld for which reason."""

    memories: list[Hit]
    total: int
    next_offset: int | None = None
    withheld: dict[str, int] = {}
    degraded: str = ""


class Listing(BaseModel):
    """A page of memories."""

    memories: list[Record]
    next_cursor: str | None = None


class Problem(BaseModel):
    """A refusal or failure (RFC 9457), with a stable code."""

    type: str
    title: str
    status: int
    detail: str
    success: Literal[False]
    error: str
    code: str
    hint: str
    findings: list[Finding]
    model_config = ConfigDict(extra="allow")
