"""What a memory may do once those that contradict it are heard, for one reader at one moment. Computed, never stored.

Because nothing is moved when a newer fact takes an older one's place, it goes back by itself when the newer one's
proof falls away: a witness is deleted, an approval ends, a credit turns bad, a rule blocks it. ``Transitions`` writes
into the audit log, in the same transaction, what a write changed in who acts: a newer fact took an older one's place
or gave it back; something unproven came to be able to act and graduated, or lost its proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from truekeep.stores.records import memory_from
from truekeep.trust.influence import (
    UNRIVALLED,
    Influence,
    Rank,
    Reader,
    Rival,
    SuccessionPlace,
    may_act,
    place,
    rank,
    replaces,
)
from truekeep.trust.origin import AGENT, is_lasting
from truekeep.types import Memory

if TYPE_CHECKING:
    from truekeep.claims.contradictions import ContradictionLink, Contradictions
    from truekeep.claims.evidence import Evidence
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger

ANYBODY = Reader()
"""The reader of a keep that is nobody's but its owner's."""

IsBlocked = Callable[[Memory], bool]
_LATEST = 4
"""Statements of each source that are heard, the latest, so that none is crowded out by another."""
_SPEAK_AGAINST = ("memories", "history")
"""Where it stands who said something else, and where a text came from."""


def _nothing_blocks(_: Memory) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Settled:
    """What a memory may do: by itself, and once its rivals are heard."""

    merit: Influence
    influence: Influence
    place: SuccessionPlace = UNRIVALLED

    @property
    def may_act(self) -> bool:
        """Whether it may act."""
        return self.influence.may_act


class MayActNow:
    """Settles who acts among the memories of one keep."""

    def __init__(self, ledger: Ledger, evidence: Evidence, contradictions: Contradictions) -> None:
        self._ledger = ledger
        self._evidence = evidence
        self._contradictions = contradictions

    def settled(self, memory: Memory, whom: Reader, now: datetime, is_blocked: IsBlocked = _nothing_blocks) -> Settled:
        """What a memory that no rule blocks may do; ``is_blocked`` is asked about its rivals."""
        merit = self.merit(memory, whom, now)
        links = self._contradictions.of(memory)
        if not links:
            return Settled(merit, _spoken(merit, UNRIVALLED, memory, now))
        court = _Court(self, whom, now, is_blocked)
        found = place(_rank(memory, whom), merit.may_act, court.contradictions(memory, links, acts=merit.may_act), now)
        return Settled(merit, _spoken(merit, found, memory, now), found)

    def merit(self, memory: Memory, whom: Reader, now: datetime) -> Influence:
        """Whether a memory may act by itself, rivals aside.

        What systems agree on acts while nothing of higher rank contradicts it and no common source is known. When a
        memory or an earlier version was altered, nobody can know either, until a person clears that away.
        """
        found = may_act(self._evidence.facts(memory, whom), whom, now)
        if not found.may_act or _rank(memory, whom) is Rank.OWNER or not self._ledger.has_altered(*_SPEAK_AGAINST):
            return found
        return Influence(False, "A memory of this keep was altered, and may have contradicted it.", "keep_altered")

    def is_contested(self, memory: Memory) -> bool:
        """Whether a memory answers a question that may have more than one answer."""
        return self._contradictions.is_contested(memory)

    def links(self, memory: Memory) -> list[ContradictionLink]:
        """The rivals that were found for a memory."""
        return self._contradictions.of(memory)

    def found(self, link: ContradictionLink) -> Memory | None:
        """The rival behind a link; none if its row was altered: whatever leaves honestly takes its links along."""
        sealed = self._ledger.get("memories", link.rival)
        memory = memory_from(sealed) if sealed is not None and sealed.verified else None
        return memory if memory is not None and memory.version == link.version else None


class _Court:
    """Hears a memory's rivals for one reader at one moment."""

    def __init__(self, may_act_now: MayActNow, whom: Reader, now: datetime, is_blocked: IsBlocked) -> None:
        self._may_act_now = may_act_now
        self._whom = whom
        self._now = now
        self._is_blocked = is_blocked

    def contradictions(self, memory: Memory, links: Sequence[ContradictionLink], *, acts: bool) -> list[Rival]:
        """Those that decide: the first that takes its place, and the latest word of each source that it contests."""
        own = _rank(memory, self._whom)
        found = [winner for whole in (True, False) if (winner := self._winner(links, own, is_whole=whole))]
        if own is Rank.OWNER and acts:
            return found  # nothing goes before it, and it replaces every elder
        for link in _latest_of_each(link for link in links if not link.is_newer):
            elder = self._may_act_now.found(link)
            if elder is None:
                found.append(_unknown(link))
            else:
                winner = self._winner(self._may_act_now.links(elder), _rank(elder, self._whom), but=memory)
                is_retired = winner is not None and winner.since <= self._now
                found.append(self._rival(elder, link, is_retired=is_retired))
        return found

    def _winner(
        self, links: Iterable[ContradictionLink], own: Rank, *, is_whole: bool = True, but: Memory | None = None
    ) -> Rival | None:
        """The first in time of the newer ones that take the place of a memory of that rank."""
        newer = (link for link in links if link.is_newer and link.is_whole is is_whole)
        for link in sorted(newer, key=lambda link: link.since):
            if but is not None and link.rival == but.id:
                continue
            other = self._may_act_now.found(link)
            rival = self._rival(other, link) if other is not None else _unknown(link)
            if replaces(rival.rank, own, newer_acts=rival.acts):
                return rival
        return None

    def _rival(self, other: Memory, link: ContradictionLink, *, is_retired: bool = False) -> Rival:
        merit = self._may_act_now.merit(other, self._whom, self._now)
        acts = merit.may_act and not _has_ended(other, self._now) and not self._is_blocked(other)
        return Rival(other.id, _rank(other, self._whom), acts, link.is_newer, link.since, link.is_whole, is_retired)


def _unknown(link: ContradictionLink) -> Rival:
    """A rival whose row was altered counts for the most it can have been, so that an edit brings nothing back."""
    return Rival(link.rival, Rank.OWNER, True, link.is_newer, link.since, link.is_whole)


def _latest_of_each(links: Iterable[ContradictionLink]) -> list[ContradictionLink]:
    """The latest few of every source, so that none is crowded out."""
    by: dict[str, list[ContradictionLink]] = {}
    for link in links:
        by.setdefault(link.by, []).append(link)
    return [link for said in by.values() for link in said[-_LATEST:]]


def _has_ended(memory: Memory, now: datetime) -> bool:
    return memory.valid_until is not None and memory.valid_until <= now


def _rank(memory: Memory, whom: Reader) -> Rank:
    origin = memory.origin
    return rank(memory.standing, origin.principal, memory.approval, whom, is_agents=origin.channel == AGENT)


def _spoken(merit: Influence, found: SuccessionPlace, memory: Memory, now: datetime) -> Influence:
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


@dataclass(frozen=True, slots=True)
class _State:
    settled: Settled
    is_born_durable: bool

    @property
    def retired_by(self) -> str | None:
        return self.settled.place.retired_by[-1] if self.settled.place.retired_by else None

    @property
    def has_graduated(self) -> bool:
        return not self.is_born_durable and self.settled.merit.may_act


class Transitions:
    """Watches one keep's writes."""

    def __init__(
        self, ledger: Ledger, may_act_now: MayActNow, contradictions: Contradictions, clock: Callable[[], datetime]
    ) -> None:
        self._ledger = ledger
        self._may_act_now = may_act_now
        self._contradictions = contradictions
        self._clock = clock

    @contextmanager
    def watching(self, entry: Entry, memories: Iterable[Memory]) -> Iterator[list[Memory]]:
        """Record what the block changes for those memories and all that answer the same questions.

        Gives the latter: the candidates for rivals and for witnesses.
        """
        listed = list(memories)
        related = {other.id: other for memory in listed for other in self._contradictions.related(memory)}
        concerned = {name for memory in listed for name in self._contradictions.concerned(memory, related.values())}
        ids = {*concerned, *(memory.id for memory in listed)} if concerned or any(one.seq for one in listed) else set()
        others = {name: one for name, one in related.items() if name in ids and not any(name == my.id for my in listed)}
        seals = {name: entry.known("memories", other.seq) for name, other in others.items()}
        before = self._states(ids, others)
        yield list(related.values())
        same = {name: one for name, one in others.items() if entry.known("memories", one.seq) == seals[name]}
        self._record(entry, before, self._states(ids, same))

    def acts(self, memory: Memory) -> Settled:
        """What a memory may do now, for the owner."""
        return self._may_act_now.settled(memory, ANYBODY, self._clock())

    def contested(self, memory: Memory) -> tuple[str, ...]:
        """The memories that one which is not stored would contradict."""
        return self._contradictions.contradicted(memory)

    def disagreeing(self, memory: Memory) -> tuple[str, ...]:
        """The memories that answer the same otherwise, older or newer."""
        return self._contradictions.disagreeing(memory)

    def _states(self, ids: Iterable[str], read: Mapping[str, Memory]) -> dict[str, _State]:
        """What those memories may do; of some it is known what their rows say."""
        found = (self._ledger.get("memories", memory_id) for memory_id in ids if memory_id not in read)
        memories = [memory_from(sealed) for sealed in found if sealed is not None and sealed.verified]
        return {one.id: _State(self.acts(one), _is_born_durable(one)) for one in (*read.values(), *memories)}

    def _record(self, entry: Entry, before: dict[str, _State], after: dict[str, _State]) -> None:
        for memory_id, state in after.items():
            was = before.get(memory_id)
            if state.retired_by and not (was and was.retired_by):
                entry.event("memory.retired", memory=memory_id, by=state.retired_by)
            elif was and was.retired_by and not state.retired_by:
                entry.event("memory.reinstated", memory=memory_id)
            if state.has_graduated and not (was and was.has_graduated):
                entry.event("memory.graduated", memory=memory_id, why=state.settled.merit.code)
            elif was and was.has_graduated and not state.has_graduated:
                entry.event("memory.demoted", memory=memory_id, why=state.settled.merit.code)


def _is_born_durable(memory: Memory) -> bool:
    return is_lasting(memory.standing, memory.approval)
