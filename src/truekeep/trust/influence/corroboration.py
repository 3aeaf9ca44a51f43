"""Count independent witnesses of one claim. Independence is lineage, not wording.

A witness is a statement of the claim that stands as ENROLLED for the reader, comes from a named principal
other than the agent, and repeats no value that the keep first met as hearsay. Two witnesses are independent
when no ancestor is common to both, nobody speaks in both, be it as the principal or as the principal of an ancestor,
and the later one spoke before the earlier one's shelf life was over: what has faded is nobody's witness. So what one
system derived from another's word never agrees with anything else that the other says. Statements that do not
qualify are left out before anything is counted, so adding them changes nothing, and a summary of two witnesses does
not tie them together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations

from truekeep.types import Standing


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom a memory would act, and in a shared keep whose words are the reader's own."""

    principal: str | None = None
    is_shared_keep: bool = False
    purpose: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One memory that states the claim. ``ancestors`` is the closure of its parents, itself not included."""

    memory_id: str
    principal: str | None
    standing: Standing
    is_agents: bool = False
    ancestors: frozenset[str] = frozenset()
    heard_from: frozenset[str] = frozenset()
    """The principals of the ancestors."""
    repeats_hearsay: bool = False
    is_active: bool = True
    said_at: datetime | None = None
    fades_at: datetime | None = None
    """When the statement expires unless it is corroborated by then."""

    @property
    def lineage(self) -> frozenset[str]:
        """The statement and everything it is derived from."""
        return self.ancestors | {self.memory_id}

    @property
    def voices(self) -> frozenset[str | None]:
        """Everybody who speaks in it."""
        return self.heard_from | {self.principal}


@dataclass(frozen=True, slots=True)
class Corroboration:
    """The independent principals found, and how many statements were left out for which reason."""

    principals: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def is_enough(self) -> bool:
        """Two independent principals are."""
        return len(self.principals) >= 2

    def __bool__(self) -> bool:
        return self.is_enough


def standing_for(standing: Standing, principal: str | None, reader: Reader) -> Standing:
    """The standing of somebody's words for this reader: in a shared keep only one's own are the owner's."""
    if standing is Standing.OWNER and reader.is_shared_keep and (principal is None or principal != reader.principal):
        return Standing.ENROLLED
    return standing


def corroboration(statements: Iterable[Statement], reader: Reader | None = None) -> Corroboration:
    """Two independent witnesses of one claim if there are any, else the one there is."""
    reader = reader or Reader()
    left_out: Counter[str] = Counter()
    witnesses: list[Statement] = []
    for statement in statements:
        reason = _why_no_witness(statement, reader)
        if reason:
            left_out[reason] += 1
        else:
            witnesses.append(statement)
    return Corroboration(_independent(witnesses), dict(left_out))


def _why_no_witness(statement: Statement, reader: Reader) -> str:
    """The reason to leave a statement out, or nothing."""
    reasons = {
        "inactive": not statement.is_active,
        "agent": statement.is_agents,
        "nobody": not statement.principal,
        "standing": standing_for(statement.standing, statement.principal, reader) is not Standing.ENROLLED,
        "repeats_hearsay": statement.repeats_hearsay,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _independent(witnesses: list[Statement]) -> tuple[str, ...]:
    """The principals of some independent pair. The search is exact, so more statements never hide a pair."""
    distinct = {(w.principal, w.voices, w.lineage): w for w in witnesses}
    for a, b in combinations(distinct.values(), 2):
        if a.voices.isdisjoint(b.voices) and a.lineage.isdisjoint(b.lineage) and _met(a, b):
            return tuple(sorted((str(a.principal), str(b.principal))))
    return tuple(str(witness.principal) for witness in witnesses[:1])


def _met(a: Statement, b: Statement) -> bool:
    """Whether the later one spoke while the earlier one still counted."""
    if a.said_at is None or b.said_at is None:
        return True
    first, second = (a, b) if a.said_at <= b.said_at else (b, a)
    return first.fades_at is None or second.said_at is None or second.said_at < first.fades_at
