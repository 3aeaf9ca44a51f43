"""Upgrade: what an earlier version learned in the agent's words becomes what the owner said, once, on first opening.

That version stored rewordings that a quote had proved. The owner's passage around the quote is the memory now, and the
rewording its gist. What was noted without a quote of the owner's waits for the owner. It can be undone as an incident.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.incident import records
from truekeep.incident.records import UPGRADE, Incident
from truekeep.quarantine.noted import NOTED_BEFORE
from truekeep.search import OF_PASSAGES
from truekeep.sessions.passages import passage_of, quoted
from truekeep.stores.ledger import Sealed
from truekeep.stores.records import memory_from, new_id
from truekeep.trust.origin import AGENT
from truekeep.types import MEMBER, Candidate, Decision, Gist, Memory, Origin, Standing

if TYPE_CHECKING:
    from truekeep.quarantine.queue import Queue
    from truekeep.quarantine.removal import Removal
    from truekeep.records.catalog import Catalog
    from truekeep.sessions.sessions import Sessions
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger
    from truekeep.write.judge import Judge, Judged

_WHO, _WHY = "truekeep", "an earlier version remembered the agent's words for the owner's"


@dataclass(slots=True)
class _Found:
    """What has to change, as it was read."""

    passages: list[tuple[Candidate, list[Memory]]] = field(default_factory=list)
    """The owner's words, with the rewordings of them."""
    unquoted: list[Memory] = field(default_factory=list)

    def take(self, said: Candidate | None, memory: Memory) -> None:
        if said is None:
            self.unquoted.append(memory)
            return
        words = (said.text, said.origin)
        known = next((of for one, of in self.passages if (one.text, one.origin) == words), None)
        if known is None:
            self.passages.append((said, [memory]))
        else:
            known.append(memory)

    def memories(self) -> list[Memory]:
        return [*(memory for _, of in self.passages for memory in of), *self.unquoted]


class Upgrade:
    """Brings what an earlier version learned up to how things are remembered now."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        sessions: Sessions,
        judge: Judge,
        removal: Removal,
        queue: Queue,
        clock: Callable[[], datetime],
        passage_chars: int,
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._sessions = sessions
        self._judge = judge
        self._removal = removal
        self._queue = queue
        self._clock = clock
        self._passage_chars = passage_chars

    def run(self) -> None:
        """Do so in one transaction, if the index cards are that version's: what is done here has new ones."""
        places = self._catalog.outdated(OF_PASSAGES)
        if not places:
            return
        found = _Found()
        for row in self._ledger.current("memories", places):
            memory = memory_from(Sealed(row, verified=True))
            if _was_learned(memory):
                found.take(self._said(memory), memory)
        judged = [one.held_if_owners() for one in self._judge.all([_with_gist(*one) for one in found.passages])]
        with self._ledger.writing() as entry:
            rows = {memory.id: self._ledger.get("memories", memory.id) for memory in found.memories()}
            if all(_is_as_read(rows[memory.id], memory) for memory in found.memories()):
                self._carry_out(entry, found, judged, {name: row for name, row in rows.items() if row is not None})

    def _carry_out(self, entry: Entry, found: _Found, judged: Sequence[Judged], rows: dict[str, Sealed]) -> None:
        incident = Incident(new_id("inc"), UPGRADE, _WHO, _WHY, self._clock(), {})
        made, items = [], []
        for one, (_, memories) in zip(judged, found.passages, strict=True):
            passage, old = self._judge.memory(one), [rows[memory.id] for memory in memories]
            passage = replace(passage, order=min(memory.order for memory in memories))
            if one.ruling.decision is Decision.ACCEPT:
                stored = self._removal.merge(entry, passage, one.vector, old, incident.id)
                made.append((stored.id, stored.version))
            else:
                items.append(self._removal.hold(entry, passage, old, one.ruling, one.findings))
        items += [self._removal.hold(entry, one, [rows[one.id]], NOTED_BEFORE) for one in found.unquoted]
        waiting = self._queue.keep_noted(entry)
        removed = tuple((memory.id, memory.version) for memory in found.memories())
        if removed:
            records.put(entry, replace(incident, removed=removed, restored=tuple(made), items=tuple(items)))
        if removed or waiting:
            entry.event("memories.upgraded", incident=incident.id, passages=len(made), waiting=len(items) + waiting)

    def _said(self, memory: Memory) -> Candidate | None:
        """The owner's passage around the quote that proved a memory; the quote where the message is gone."""
        origin = memory.origin
        if memory.standing is not Standing.OWNER or origin.quote is None:
            return None
        owners = self._sessions.owners(origin.session) if origin.session is not None else []
        place = quoted(origin.quote, sorted(owners, key=lambda seen: seen.id != origin.message), self._passage_chars)
        if place is not None:
            return passage_of(*place)
        is_gone = not owners or (origin.message is not None and all(seen.id != origin.message for seen in owners))
        return Candidate(origin.quote, Standing.OWNER, _owners(origin), as_of=memory.as_of) if is_gone else None


def _was_learned(memory: Memory) -> bool:
    """Whether an agent noted it or it was found in a conversation, and no person has approved it since."""
    origin = memory.origin
    is_found = memory.standing is Standing.OWNER and (origin.message is not None or origin.quote is not None)
    return memory.approval is None and (is_found or origin.channel == AGENT)


def _is_as_read(sealed: Sealed | None, memory: Memory) -> bool:
    return sealed is not None and sealed.verified and memory_from(sealed).version == memory.version


def _owners(origin: Origin) -> Origin:
    """The origin of the owner's own words, whoever wrote them down."""
    channel = f"{MEMBER}{origin.principal}" if origin.principal is not None else "user"
    channel = channel if origin.channel == AGENT else origin.channel
    return Origin(channel, principal=origin.principal, session=origin.session, message=origin.message)


def _with_gist(said: Candidate, memories: Sequence[Memory]) -> Candidate:
    prompts = (memory.origin.prompt for memory in memories if memory.origin.prompt is not None)
    return replace(said, gist=Gist("; ".join(memory.text for memory in memories), prompt=next(prompts, None)))
