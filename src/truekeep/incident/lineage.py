"""Who is derived from whom: by the parents a memory names, and by what the agent had before it when it wrote."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from truekeep.exposures import Exposure
from truekeep.origin import AGENT
from truekeep.types import Memory, Standing


@dataclass(frozen=True, slots=True)
class Since:
    """From when on: by the audit log's own count, and by the clock only for rows from before that was kept.

    A clock can be set back, and a message can claim any date.
    """

    order: int
    at: datetime

    def includes(self, other: Since) -> bool:
        """Whether all that the other covers is covered; two that are counted differently include nothing."""
        return 0 < self.order <= other.order and self.at <= other.at

    def covers(self, memory: Memory) -> bool:
        """Whether the memory was written after that."""
        return memory.order >= self.order if self.order and memory.order else memory.created_at >= self.at


@dataclass(frozen=True, slots=True)
class Lineage:
    """The memories of a keep as a graph; ``seen`` says which sessions had which memory before them, and since when."""

    memories: Mapping[str, Memory]
    children: Mapping[str, frozenset[str]]
    seen: Mapping[str, Mapping[str, Since]]
    notes: Mapping[str, Sequence[Memory]]
    """By session, what the agent noted there and the owner did not say in so many words."""

    @classmethod
    def of(cls, memories: Iterable[Memory], exposures: Iterable[Exposure]) -> Lineage:
        """The graph over these memories."""
        known = {memory.id: memory for memory in memories}
        children: defaultdict[str, set[str]] = defaultdict(set)
        for memory in known.values():
            for parent in memory.origin.parents:
                children[parent].add(memory.id)
        seen: defaultdict[str, dict[str, Since]] = defaultdict(dict)
        for exposure in exposures:
            for memory_id, _ in exposure.memories:
                seen[memory_id].setdefault(exposure.session, Since(exposure.order, exposure.at))
        notes: defaultdict[str, list[Memory]] = defaultdict(list)
        for memory in known.values():
            if memory.origin.channel == AGENT and memory.standing is not Standing.OWNER and memory.approval is None:
                notes[memory.origin.session or ""].append(memory)
        return cls(known, {parent: frozenset(found) for parent, found in children.items()}, seen, notes)

    def derived(self, roots: Collection[str], read_in: Mapping[str, Since]) -> list[str]:
        """Everything derived from the roots, to the end, nearest first; the roots are not among it.

        ``read_in`` names sessions that read the source itself, and since when: what the agent noted there after that,
        other than the owner's proven words, may be its summary.
        """
        found: dict[str, None] = {}
        opened: dict[str, Since] = {}  # a session that many of them were shown to is looked through once
        waiting = deque(self._noted(read_in, opened))
        waiting += (child for root in roots for child in self._next(root, opened))
        while waiting:
            memory_id = waiting.popleft()
            if memory_id in roots or memory_id in found or memory_id not in self.memories:
                continue
            found[memory_id] = None
            waiting += self._next(memory_id, opened)
        return list(found)

    def ancestors(self, memory_id: str) -> list[str]:
        """The memories it is derived from by name, nearest first."""
        found: dict[str, None] = {}
        waiting = list(self.memories[memory_id].origin.parents) if memory_id in self.memories else []
        while waiting:
            parent = waiting.pop(0)
            if parent not in found:
                found[parent] = None
                waiting += self.memories[parent].origin.parents if parent in self.memories else ()
        return list(found)

    def _next(self, memory_id: str, opened: dict[str, Since]) -> list[str]:
        return [*sorted(self.children.get(memory_id, ())), *self._noted(self.seen.get(memory_id, {}), opened)]

    def _noted(self, sessions: Mapping[str, Since], opened: dict[str, Since]) -> list[str]:
        """What the agent noted in sessions since some moment, and the owner did not say in so many words.

        ``opened`` has those that were looked through, and since when: what came after that was told already.
        """
        found: list[str] = []
        for session, since in sessions.items():
            known = opened.get(session)
            if known is None or not known.includes(since):
                opened[session] = since
                found += [memory.id for memory in self.notes.get(session, ()) if since.covers(memory)]
        return found
