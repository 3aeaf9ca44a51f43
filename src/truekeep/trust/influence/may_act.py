"""Who may act: the one pure rule that decides whether a memory can drive a tool call for a reader.

1. The record is active, verified, unexpired, and no rule in force blocks it; and
2. an approval, where there is one, governs alone: within its limits it lets the item act, beyond them nothing does;
3. else the reader's own words act;
4. else ENROLLED words of somebody other than the agent act when two independent principals state the claim;
5. else ENROLLED words of somebody other than the agent act on more good than bad credits;
6. else nothing acts: neither the agent's notes nor hearsay, however often they are repeated or turn out well.

The memory's type, labels, metadata, wording and popularity are not among the inputs, on purpose.

Credits are outcomes of runs, counted only for memories whose values those runs really used. What is unproven stays for
a while; the owner's words and what a person approved never fade.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from truekeep.trust.influence.corroboration import Corroboration, Reader, standing_for
from truekeep.trust.origin import is_lasting
from truekeep.types import Approval, Standing


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, as said over a channel; ``by_authority`` is whether that channel holds ``credit``."""

    run: str
    outcome: Literal["good", "bad"]
    by_authority: bool


@dataclass(frozen=True, slots=True)
class Credits:
    """Good and bad outcomes of a memory."""

    good: int = 0
    bad: int = 0

    @property
    def is_good(self) -> bool:
        """More good than bad."""
        return self.good > self.bad


def credits_of(memory_id: str, outcomes: Iterable[Outcome], used: Mapping[str, frozenset[str]]) -> Credits:
    """The credits of one memory. ``used`` maps a run to the memories matched in its redeemed tickets.

    A run counts once, by its first outcome; one without a redeemed ticket for this memory counts for nothing,
    so neither recalling a memory nor crediting a run that never acted on it lifts it.
    """
    seen: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.by_authority and memory_id in used.get(outcome.run, frozenset()):
            seen.setdefault(outcome.run, outcome.outcome)
    results = list(seen.values())
    return Credits(good=results.count("good"), bad=results.count("bad"))


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


@dataclass(frozen=True, slots=True)
class Shelf:
    """Shelf lives in days, counted from when a memory was written; zero is for ever."""

    hearsay_days: float = 0.0
    enrolled_days: float = 0.0

    def fades_at(self, standing: Standing, approval: Approval | None, written_at: datetime) -> datetime | None:
        """When a memory that has not come to be able to act by then expires; what may act does not."""
        if is_lasting(standing, approval):
            return None
        days = self.enrolled_days if standing is Standing.ENROLLED else self.hearsay_days
        try:
            return written_at + timedelta(days=days) if days > 0 else None
        except OverflowError:
            return None
