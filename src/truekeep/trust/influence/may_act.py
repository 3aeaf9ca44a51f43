"""Who may act: the one pure rule that decides whether a memory can drive a tool call for a reader.

1. The record is active, verified, unexpired, and no rule in force blocks it; and
2. an approval, where there is one, governs alone: within its limits it lets the item act, beyond them nothing does;
3. else the reader's own words act;
4. else ENROLLED words of somebody other than the agent act when two independent principals state the claim;
5. else ENROLLED words of somebody other than the agent act on more good than bad credits;
6. else nothing acts: neither the agent's notes nor hearsay, however often they are repeated or turn out well.

The memory's type, labels, metadata, wording and popularity are not among the inputs, on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from truekeep.trust.influence.corroboration import Corroboration, Reader, standing_for
from truekeep.trust.influence.credit import Credits
from truekeep.types import Approval, Standing


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """All that the rule may know about a memory. A missing fact is one that does not help it."""

    standing: Standing
    principal: str | None = None
    is_agents: bool = False
    is_active: bool = False
    is_verified: bool = False
    is_blocked: bool = True
    expires_at: datetime | None = None
    approval: Approval | None = None
    repeats_hearsay: bool = False
    corroboration: Corroboration = field(default_factory=Corroboration)
    credits: Credits = field(default_factory=Credits)


@dataclass(frozen=True, slots=True)
class Influence:
    """The answer, a sentence that a person understands, and a stable code."""

    may_act: bool
    why: str
    code: str

    def __bool__(self) -> bool:
        return self.may_act


def may_act(memory: MemoryFacts, reader: Reader, now: datetime) -> Influence:
    """Whether the memory may drive an action for this reader, now."""
    unfit = _unfit(memory, now)
    if unfit is not None:
        return unfit
    if memory.approval is not None:
        return _by_approval(memory.approval, reader, now)
    standing = standing_for(memory.standing, memory.principal, reader)
    if standing is Standing.OWNER:
        return Influence(True, "It is your own word.", "own_words")
    if standing is Standing.ENROLLED:
        return _enrolled(memory)
    return Influence(False, "It was merely read or imported, and nobody vouches for it.", "hearsay")


def _unfit(memory: MemoryFacts, now: datetime) -> Influence | None:
    if not memory.is_verified:
        return Influence(False, "Its record fails its integrity check.", "unverified")
    if not memory.is_active:
        return Influence(False, "It is no longer, or not yet, an active memory.", "not_active")
    if memory.expires_at is not None and memory.expires_at <= now:
        return Influence(False, "It has expired.", "expired")
    if memory.is_blocked:
        return Influence(False, "A rule in force blocks it.", "blocked")
    return None


def _by_approval(approval: Approval, reader: Reader, now: datetime) -> Influence:
    if approval.inform_only:
        return Influence(False, "A reviewer approved it as background only.", "approved_to_inform")
    if approval.until is not None and approval.until <= now:
        return Influence(False, "A reviewer's approval of it has run out.", "approval_ended")
    if approval.purpose is not None and _folded(approval.purpose) != _folded(reader.purpose):
        return Influence(False, "A reviewer approved it for another purpose.", "approved_for_another_purpose")
    return Influence(True, f"{approval.by} approved it.", "approved")


def _folded(purpose: str | None) -> str | None:
    return None if purpose is None else " ".join(purpose.casefold().split())


def _enrolled(memory: MemoryFacts) -> Influence:
    if memory.is_agents:
        return Influence(False, "The assistant noted it; its notes help to find, they never act.", "agents_note")
    witnesses = memory.corroboration
    if not memory.repeats_hearsay and witnesses.is_enough:
        return Influence(True, f"Stated independently by {' and '.join(witnesses.principals)}.", "corroborated")
    if memory.credits.is_good:
        return Influence(True, "Actions that relied on it turned out well.", "credited")
    if memory.repeats_hearsay:
        why = "It repeats something first met as hearsay; only you or a reviewer can clear it."
        return Influence(False, why, "repeats_hearsay")
    return Influence(False, "Only one source states it so far.", "lone_witness")
