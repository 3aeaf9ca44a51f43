"""Succession: what a memory may do once its rivals are heard, for one reader at one moment. Computed, never stored.

Because nothing is moved when a newer fact takes an older one's place, it goes back by itself when the newer one's
proof falls away: a witness is deleted, an approval ends, a credit turns bad, a rule blocks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from truekeep.influence import (
    UNRIVALLED,
    Influence,
    InfluencePolicy,
    Place,
    Rank,
    Reader,
    Rival,
    may_act,
    place,
    rank,
    replaces,
)
from truekeep.origin import AGENT
from truekeep.proofs import Proofs
from truekeep.rivals import Link, Rivals
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.types import Memory

ANYBODY = Reader()
"""The reader of a keep that is nobody's but its owner's."""

IsBlocked = Callable[[Memory], bool]
_LATEST = 4


def _nothing_blocks(_: Memory) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Settled:
    """What a memory may do: by itself, and once its rivals are heard."""

    merit: Influence
    influence: Influence
    place: Place = UNRIVALLED

    @property
    def may_act(self) -> bool:
        """Whether it may act."""
        return self.influence.may_act


class Succession:
    """Settles who acts among the memories of one keep."""

    def __init__(self, ledger: Ledger, proofs: Proofs, rivals: Rivals, rule: InfluencePolicy) -> None:
        self._ledger = ledger
        self._proofs = proofs
        self._rivals = rivals
        self._rule = rule

    def settled(self, memory: Memory, whom: Reader, now: datetime, is_blocked: IsBlocked = _nothing_blocks) -> Settled:
        """What a memory that no rule blocks may do; ``is_blocked`` is asked about its rivals."""
        merit = self.merit(memory, whom, now)
        links = self._rivals.of(memory)
        if not links:
            return Settled(merit, _spoken(merit, UNRIVALLED, memory, now))
        court = _Court(self, whom, now, is_blocked)
        found = place(_rank(memory, whom), merit.may_act, court.rivals(memory, links, acts=merit.may_act), now)
        return Settled(merit, _spoken(merit, found, memory, now), found)

    def merit(self, memory: Memory, whom: Reader, now: datetime) -> Influence:
        """Whether a memory may act by itself, rivals aside."""
        return may_act(self._proofs.facts(memory, whom), whom, now, self._rule)

    @property
    def hearsay_may_act(self) -> bool:
        """Whether hearsay may act by credit."""
        return self._rule.hearsay_may_act_by_credit

    def is_contested(self, memory: Memory) -> bool:
        """Whether a memory answers a question that may have more than one answer."""
        return self._rivals.is_contested(memory)

    def links(self, memory: Memory) -> list[Link]:
        """The rivals that were found for a memory."""
        return self._rivals.of(memory)

    def found(self, link: Link) -> Memory | None:
        """The rival behind a link, if it is still what it was."""
        sealed = self._ledger.get("memories", link.rival)
        memory = memory_from(sealed) if sealed is not None and sealed.verified else None
        return memory if memory is not None and memory.version == link.version else None


class _Court:
    """Hears a memory's rivals for one reader at one moment."""

    def __init__(self, succession: Succession, whom: Reader, now: datetime, is_blocked: IsBlocked) -> None:
        self._succession = succession
        self._whom = whom
        self._now = now
        self._is_blocked = is_blocked

    def rivals(self, memory: Memory, links: Sequence[Link], *, acts: bool) -> list[Rival]:
        """Those that decide: the first that takes its place, and the latest word of each source that it contests."""
        own = _rank(memory, self._whom)
        found = [winner for whole in (True, False) if (winner := self._winner(links, own, is_whole=whole))]
        if own is Rank.OWNER and acts:
            return found  # nothing goes before it, and it replaces every elder
        for link in _latest_of_each(link for link in links if not link.is_newer):
            elder = self._succession.found(link)
            if elder is not None:
                winner = self._winner(self._succession.links(elder), _rank(elder, self._whom), but=memory)
                is_retired = winner is not None and winner.since <= self._now
                found.append(self._rival(elder, link, is_retired=is_retired))
        return found

    def _winner(
        self, links: Iterable[Link], own: Rank, *, is_whole: bool = True, but: Memory | None = None
    ) -> Rival | None:
        """The first in time of the newer ones that take the place of a memory of that rank."""
        newer = (link for link in links if link.is_newer and link.is_whole is is_whole)
        for link in sorted(newer, key=lambda link: link.since):
            other = self._succession.found(link) if but is None or link.rival != but.id else None
            rival = self._rival(other, link) if other is not None else None
            if rival is not None and replaces(rival.rank, own, newer_acts=rival.acts):
                return rival
        return None

    def _rival(self, other: Memory, link: Link, *, is_retired: bool = False) -> Rival:
        merit = self._succession.merit(other, self._whom, self._now)
        acts = merit.may_act and not _has_ended(other, self._now) and not self._is_blocked(other)
        return Rival(other.id, _rank(other, self._whom), acts, link.is_newer, link.since, link.is_whole, is_retired)


def _latest_of_each(links: Iterable[Link]) -> list[Link]:
    """The latest few of every source, so that none is crowded out."""
    by: dict[str, list[Link]] = {}
    for link in links:
        by.setdefault(link.by, []).append(link)
    return [link for said in by.values() for link in said[-_LATEST:]]


def _has_ended(memory: Memory, now: datetime) -> bool:
    return memory.valid_until is not None and memory.valid_until <= now


def _rank(memory: Memory, whom: Reader) -> Rank:
    origin = memory.origin
    return rank(memory.standing, origin.principal, memory.approval, whom, is_agents=origin.channel == AGENT)


def _spoken(merit: Influence, found: Place, memory: Memory, now: datetime) -> Influence:
    """The answer in a sentence a person understands."""
    if found.retired_by:
        return Influence(False, f"A newer statement has taken its place: {found.retired_by[-1]}.", "retired")
    if found.outdated_by:
        why = f"A newer statement replaces part of it: {found.outdated_by[-1]}. Say the rest again to let it act."
        return Influence(False, why, "partly_outdated")
    if found.held_by:
        why = f"It contradicts {found.held_by[-1]}, which goes before it; a person has to decide."
        return Influence(False, why, "contests")
    if merit.may_act and memory.valid_until is not None and _has_ended(memory, now):
        last = memory.valid_until - timedelta(microseconds=1)
        return Influence(False, f"It says itself that it held until {last:%Y-%m-%d}.", "no_longer_valid")
    if found.contests:
        return Influence(merit.may_act, f"{merit.why} It contests {', '.join(found.contests[:3])}.", merit.code)
    return merit
