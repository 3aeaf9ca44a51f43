"""Lineage: which memories were derived from which, both ways, and where a text came from.

``Ancestry`` draws the latter as a small graph for a person's eyes: page, agent's summary, this. Every node is a source,
a session of the agent's or a memory; edges lead from what was read to what was made of it.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from truekeep.sessions.transcripts import observations
from truekeep.stores.records import memory_from
from truekeep.trust.origin import AGENT
from truekeep.types import Memory, Standing

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger

_MOST_DESCENDANTS = 10_000
"""What falls with a rejected memory in one transaction; a chain made to be long must not block the keep."""
Kind = TypeVar("Kind")
_MOST = 5
"""Nodes beside each other; more are counted."""
_DEEPEST = 4
"""Columns of the graph: a person sees the way of a text at a glance, not all of its history."""


class Lineage:
    """What was made of one keep's memories."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def file(self, entry: Entry, memory: Memory) -> None:
        """Write down a memory's parents, inside the writer's transaction."""
        for number, parent in enumerate(dict.fromkeys(memory.origin.parents)):
            entry.set("derived", f"{memory.id}<{number}", {"v": 1, "memory": memory.id}, tag=parent)

    def withdraw(self, entry: Entry, memory: Memory) -> None:
        """Forget a memory's parents, before it is changed or taken away."""
        for number in range(len(dict.fromkeys(memory.origin.parents))):
            if (row := self._ledger.get("derived", f"{memory.id}<{number}")) is not None:
                entry.remove("derived", row.row)

    def children(self, memory_id: str) -> list[str]:
        """The memories that name this one as a parent."""
        return [json.loads(sealed.row.body)["memory"] for sealed in self._ledger.tagged("derived", memory_id, limit=-1)]

    def descendants(self, memory_id: str) -> list[str]:
        """All that was made of a memory, and of that again, nearest first."""
        if self._ledger.is_empty("derived"):
            return []
        found: dict[str, None] = {}
        waiting = deque([memory_id])
        while waiting and len(found) < _MOST_DESCENDANTS:
            fresh = [child for child in self.children(waiting.popleft()) if child not in found and child != memory_id]
            found |= dict.fromkeys(fresh)
            waiting.extend(fresh)
        return list(found)


@dataclass(frozen=True, slots=True)
class AncestryNode:
    """Something in the way of a text: ``source``, ``session``, ``memory`` or ``this``."""

    key: str
    kind: str
    channel: str
    name: str = ""
    """The principal, the session or the memory's id."""
    is_hearsay: bool = False


@dataclass(slots=True)
class Chain:
    """The graph; every node is in the column after the last of those that lead to it."""

    columns: list[list[AncestryNode]] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)
    left_out: int = 0


class Ancestry:
    """Looks up where the texts of one keep came from."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def of(self, memory: Memory) -> Chain:
        """The way of a text, held or remembered."""
        chain = Chain()
        with self._ledger.reading():
            this = AncestryNode("this", "this", memory.origin.channel, memory.id, memory.standing is Standing.HEARSAY)
            columns: dict[int, dict[str, AncestryNode]] = {0: {this.key: this}}
            self._walk(chain, columns, this, memory, 1, {memory.id})
        chain.columns = [list(columns[depth].values()) for depth in sorted(columns, reverse=True)]
        return chain

    def _walk(
        self,
        chain: Chain,
        columns: dict[int, dict[str, AncestryNode]],
        node: AncestryNode,
        memory: Memory,
        depth: int,
        seen: set[str],
    ) -> None:
        origin = memory.origin
        if origin.channel == AGENT and origin.session:
            session = AncestryNode(f"session {origin.session}", "session", AGENT, origin.session, node.is_hearsay)
            self._lead(chain, columns, session, node, depth)
            if not origin.parents:
                self._read_in(chain, columns, session, memory, depth + 1)
            node, depth = session, depth + 1
        for parent in self._some(chain, list(origin.parents)):
            found = self._memory(parent)
            is_hearsay = found is None or found.standing is Standing.HEARSAY
            above = AncestryNode(parent, "memory", found.origin.channel if found else "", parent, is_hearsay)
            self._lead(chain, columns, above, node, depth)
            if found is not None and parent not in seen and depth < _DEEPEST:
                self._walk(chain, columns, above, found, depth + 1, seen | {parent})
        if not origin.parents and not (origin.channel == AGENT and origin.session):
            if origin.carrier:
                carrier = AncestryNode(f"carrier {origin.carrier}", "source", origin.carrier, origin.carrier)
                self._lead(chain, columns, carrier, node, depth)
                node, depth = carrier, depth + 1
            self._lead(chain, columns, _source(origin.channel, origin.principal, memory.standing), node, depth)

    def _read_in(
        self,
        chain: Chain,
        columns: dict[int, dict[str, AncestryNode]],
        session: AncestryNode,
        memory: Memory,
        depth: int,
    ) -> None:
        """What the agent had taken in when it wrote; who said it, each once."""
        rows = self._ledger.tagged("observations", session.name, -1)
        before = [one for one in observations(rows) if not memory.order or one.order < memory.order]
        named = {(one.channel, one.principal): one.standing for one in before if one.at <= memory.created_at}
        for channel, principal in self._some(chain, list(named)):
            source = _source(channel, principal, named[channel, principal])
            self._lead(chain, columns, source, session, depth)

    def _lead(
        self,
        chain: Chain,
        columns: dict[int, dict[str, AncestryNode]],
        above: AncestryNode,
        below: AncestryNode,
        depth: int,
    ) -> None:
        if not any(above.key in column for column in columns.values()):
            columns.setdefault(depth, {})[above.key] = above
        if (above.key, below.key) not in chain.edges:
            chain.edges.append((above.key, below.key))

    def _some(self, chain: Chain, found: list[Kind]) -> list[Kind]:
        chain.left_out += max(0, len(found) - _MOST)
        return found[:_MOST]

    def _memory(self, memory_id: str) -> Memory | None:
        sealed = self._ledger.get("memories", memory_id)
        kept = [sealed] if sealed is not None else self._ledger.tagged("history", memory_id, limit=1)
        return next((memory_from(one) for one in kept if one.verified), None)


def _source(channel: str, principal: str | None, standing: Standing) -> AncestryNode:
    return AncestryNode(
        f"source {channel} {principal or ''}", "source", channel, principal or "", standing is Standing.HEARSAY
    )
