"""Settlement: what a write changed in who acts, written into the audit log in the same transaction.

Who acts is computed at every read. The log records when a write changed it: a newer fact took an older one's place,
or gave it back; something unproven came to be able to act and graduated, or lost its proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from truekeep.rivals import Rivals
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.succession import ANYBODY, Settled, Succession
from truekeep.types import Memory, Standing


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


class Settlement:
    """Watches one keep's writes."""

    def __init__(self, ledger: Ledger, succession: Succession, rivals: Rivals, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._succession = succession
        self._rivals = rivals
        self._clock = clock

    @contextmanager
    def watching(self, entry: Entry, memories: Iterable[Memory]) -> Iterator[list[Memory]]:
        """Record what the block changes for those memories and all that answer the same questions.

        Gives the latter: the candidates for rivals and for witnesses.
        """
        listed = list(memories)
        related = {other.id: other for memory in listed for other in self._rivals.related(memory)}
        concerned = {name for memory in listed for name in self._rivals.concerned(memory, related.values())}
        ids = {*concerned, *(memory.id for memory in listed)} if concerned or any(one.seq for one in listed) else set()
        others = {name: one for name, one in related.items() if name in ids and not any(name == my.id for my in listed)}
        seals = {name: entry.known("memories", other.seq) for name, other in others.items()}
        before = self._states(ids, others)
        yield list(related.values())
        same = {name: one for name, one in others.items() if entry.known("memories", one.seq) == seals[name]}
        self._record(entry, before, self._states(ids, same))

    def acts(self, memory: Memory) -> Settled:
        """What a memory may do now, for the owner."""
        return self._succession.settled(memory, ANYBODY, self._clock())

    def contested(self, memory: Memory) -> tuple[str, ...]:
        """The memories that one which is not stored would contradict."""
        return self._rivals.contradicted(memory)

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
    return memory.standing is Standing.OWNER or memory.approval is not None
