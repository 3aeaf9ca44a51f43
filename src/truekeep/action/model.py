"""The words of the act boundary: answers, where a value came from, and what a judgement carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truekeep.action.index import ValueIndex


class Answer(StrEnum):
    """What the boundary says to a call."""

    ALLOW = "allow"
    CONFIRM = "confirm"
    DENY = "deny"


class Provenance(IntEnum):
    """Where this session could have got a value, from the best to the worst."""

    EXEMPT = 0
    OPERATOR = 1
    OWNER = 2
    MEMORY = 3
    STALE = 4
    DOCUMENT = 5
    COMPUTED = 6
    HEARSAY = 7


PROVEN = frozenset({Provenance.EXEMPT, Provenance.OPERATOR, Provenance.OWNER, Provenance.MEMORY})


@dataclass(frozen=True, slots=True)
class MemoryTrust:
    """What the boundary needs to know of a memory: whether it may act for this reader, and how old it is."""

    may_act: bool
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything this session could have got a value from.

    ``owner`` holds the owner's own words of this session without what was pasted into them; ``memories`` what
    stands higher than hearsay; ``hearsay`` what is remembered as hearsay; ``observed`` what this session took in.
    ``pasted`` holds whole messages of the owner's that something was pasted into; they ask and prove nothing, but a
    refusal in them counts. ``trust`` answers for one memory and gives None for one it does not know. ``spent`` names
    requests of the owner that a redeemed ticket has used up already, ``grant_uses`` how often a grant was used today.
    """

    owner: ValueIndex
    memories: ValueIndex
    hearsay: ValueIndex
    observed: ValueIndex
    trust: Callable[[str], MemoryTrust | None]
    now: datetime
    spent: frozenset[tuple[str, int]] = frozenset()
    grant_uses: Mapping[str, int] | None = None
    pasted: ValueIndex | None = None


@dataclass(frozen=True, slots=True)
class Traced:
    """One argument value: where it stands in the call and where it came from. It never holds the value."""

    path: str
    provenance: Provenance
    reason: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True)
class ActionJudgement:
    """The boundary's answer to one call."""

    decision: Answer
    code: str
    reasons: tuple[str, ...]
    traced: tuple[Traced, ...]
    is_consequential: bool
    request: tuple[str, int] | None = None
    """The owner's request that covers the call; redeeming the ticket spends it."""
    grant: str | None = None

    def __bool__(self) -> bool:
        return self.decision is Answer.ALLOW

    @property
    def matched(self) -> tuple[str, ...]:
        """The memories whose values were matched, whether they may act or not; what exposure and credit count."""
        return tuple(sorted({value.memory_id for value in self.traced if value.memory_id is not None}))

    @property
    def relied_on(self) -> tuple[str, ...]:
        """The memories that proved a value; should one of them lose its proof, so does the call."""
        proven = (v for v in self.traced if v.provenance in (Provenance.MEMORY, Provenance.STALE))
        return tuple(sorted({value.memory_id for value in proven if value.memory_id is not None}))
