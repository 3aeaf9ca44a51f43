"""Who may take whose place: the pure rule of superseding, contesting and retiring.

Two memories are rivals when one outdates a clause of the other (``outdated``). For one reader at one moment:

1. the newer one retires the older only if it may act itself and ranks at least as high; hearsay retires nothing;
2. until then both stay: the newer one contests, and the older keeps what it may do;
3. one that contradicts a higher-ranking rival that is in force does not act, even if it is the newer one and proven.

Whether a memory may act by itself is asked of ``may_act``; a newcomer that has since been retired still counts, so that
what it replaced does not come back when it is replaced in its turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from truekeep.trust.influence.corroboration import Reader, standing_for
from truekeep.types import Approval, Memory, Standing


class Rank(IntEnum):
    """Whose word goes before whose, for one reader. The agent's own ranks below every enrolled system's."""

    HEARSAY = 0
    AGENT = 1
    ENROLLED = 2
    OWNER = 3


def rank(
    standing: Standing, principal: str | None, approval: Approval | None, reader: Reader, *, is_agents: bool
) -> Rank:
    """The rank of a memory for a reader; what a person approved ranks with the owner's words."""
    if approval is not None:
        return Rank.OWNER
    relative = standing_for(standing, principal, reader)
    if relative is Standing.OWNER:
        return Rank.OWNER
    if relative is Standing.HEARSAY:
        return Rank.HEARSAY
    return Rank.AGENT if is_agents else Rank.ENROLLED


@dataclass(frozen=True, slots=True)
class Rival:
    """One memory that answers the same question differently, as a reader meets it."""

    memory_id: str
    rank: Rank
    acts: bool
    """Whether it may act by itself, rivals aside."""
    is_newer: bool
    since: datetime
    """From when on the newer of the two holds."""
    is_whole: bool = True
    """Whether all that the older one says is outdated, or only a part."""
    is_retired: bool = False
    """Whether it has been replaced itself."""


@dataclass(frozen=True, slots=True)
class SuccessionPlace:
    """What its rivals leave a memory: replaced by whom, held back by whom, contesting whom."""

    retired_by: tuple[str, ...] = ()
    outdated_by: tuple[str, ...] = ()
    """Those that replace a part of it."""
    held_by: tuple[str, ...] = ()
    contests: tuple[str, ...] = ()
    until: datetime | None = None
    """When the first of those that replace it began, or will begin, to hold."""

    @property
    def is_free(self) -> bool:
        """Whether nothing keeps it from acting."""
        return not (self.retired_by or self.outdated_by or self.held_by)


UNRIVALLED = SuccessionPlace()


def replaces(newer: Rank, older: Rank, *, newer_acts: bool) -> bool:
    """Whether the newer of two rivals takes the place of the older."""
    return newer_acts and newer >= older and newer > Rank.HEARSAY


def place(own: Rank, acts: bool, rivals: Iterable[Rival], now: datetime) -> SuccessionPlace:
    """The place of a memory of that rank among its rivals."""
    listed = list(rivals)
    winners = [one for one in listed if one.is_newer and replaces(one.rank, own, newer_acts=one.acts)]
    begun = [one for one in winners if one.since <= now]
    elders = [one for one in listed if not one.is_newer and not one.is_retired]
    return SuccessionPlace(
        retired_by=tuple(one.memory_id for one in begun if one.is_whole),
        outdated_by=tuple(one.memory_id for one in begun if not one.is_whole),
        held_by=tuple(one.memory_id for one in elders if one.acts and one.rank > own),
        contests=tuple(one.memory_id for one in elders if not replaces(own, one.rank, newer_acts=acts)),
        until=min((one.since for one in winners if one.is_whole), default=None),
    )


def may_retire(memory: Memory, reader: Reader) -> bool:
    """Whether a person may delete or change a memory without asking: in a shared keep only their own words."""
    principal = memory.origin.principal
    return not reader.is_shared_keep or (principal is not None and principal == reader.principal)
