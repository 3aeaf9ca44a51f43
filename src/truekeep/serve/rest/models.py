"""The bodies of memory resources, as clients of the Agent Memory Server send and expect them.

What truekeep adds to an answer stands beside their members. ``user_id``, ``namespace`` and ``role`` are kept for
filters and display; nothing is ever granted by them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from truekeep.config import NAME_CAP, PAGE_CAP, REASON_CAP
from truekeep.trust.candidate import checked_moment

MemoryType = Literal["episodic", "semantic", "message"]
Word = Annotated[str, Field(max_length=NAME_CAP)]
Name = Annotated[str, Field(max_length=NAME_CAP)]
Reason = Annotated[str, Field(min_length=1, max_length=REASON_CAP)]
BACKGROUND = "Whether what only informs is shown, too. By default outside a session only; inside one it taints."
PageSize = Annotated[int, Query(ge=1, le=PAGE_CAP)]
MaybeName = Annotated[str | None, Query(max_length=NAME_CAP)]


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SPOKEN = {"true": True, "false": False}


def _moment(given: object) -> datetime | None:
    """A moment as a text; a bare number is none, since nobody can see which moment it means."""
    if not isinstance(given, str) or not _DATE.match(given) or len(given) > 40:
        raise ValueError("not a moment")
    moment = datetime.fromisoformat(given)
    return checked_moment("the moment", moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _switch(given: object) -> object:
    if isinstance(given, bool):
        return given
    if not isinstance(given, str) or given not in _SPOKEN:
        raise ValueError("neither true nor false")
    return _SPOKEN[given]


Moment = Annotated[datetime, BeforeValidator(_moment), Field(strict=False)]
Switch = Annotated[bool, BeforeValidator(_switch)]
"""Yes or no in an address: ``true`` or ``false``, and nothing that merely looks like one of them."""


class Strict(BaseModel):
    """A body in which a member that nobody knows is a mistake.

    Nothing is taken for something else: ``0`` is not false, ``"5"`` is no number, ``true`` is not 1.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Body(BaseModel):
    """A body of a client. Members that nobody knows are left alone, as its clients expect.

    Of those that are known nothing is taken for something else: ``0`` is not false, ``"5"`` is no number.
    """

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, strict=True)


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

    memories: list[NewMemory] = Field(min_length=1, max_length=PAGE_CAP)
    deduplicate: bool = True


class EditBody(Body):
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


class FindingBody(BaseModel):
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
    findings: list[FindingBody] = []


class Ack(BaseModel):
    """An acknowledgement; ``status`` is ``ok`` or ``quarantined``."""

    status: str


class Stored(Ack):
    """What became of a batch."""

    memories: list[VerdictOut]


class RecordBody(BaseModel):
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


class HitBody(RecordBody):
    """A memory that answers a query; ``dist`` is one less its score."""

    dist: float
    score: float
    gist: str = Field(default="", description="The agent's reading of it.")
    question: str = Field(default="", description="What it answers, where it says little without that.")
    newer: str | None = Field(default=None, description="A later hit about the same thing that announces a change.")
    window: tuple[int, int] | None = Field(default=None, description="Where in the passage the part is that answers.")


class Hits(BaseModel):
    """What answers a query, and how much was withheld for which reason."""

    memories: list[HitBody]
    total: int
    next_offset: int | None = None
    withheld: dict[str, int] = {}
    degraded: str = ""


class ListingBody(BaseModel):
    """A page of memories."""

    memories: list[RecordBody]
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
    findings: list[FindingBody]
    model_config = ConfigDict(extra="allow")
