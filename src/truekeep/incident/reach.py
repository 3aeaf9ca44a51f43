"""How far a source reaches: what came from it, what was derived from that, who saw it and what was done with it.

A look only. It does not say what taking the source back would change in who acts: a dry run does (``revoke.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from truekeep.incident.kin import Kin
from truekeep.incident.lineage import Lineage
from truekeep.incident.source import Source
from truekeep.reading import Reader
from truekeep.stores.ledger import Ledger
from truekeep.tickets import SPENT, TicketRecord, Tickets
from truekeep.types import Memory, utc_moment, utc_text

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Concerned:
    """What came from a source and what was derived from that, nearest first, with the graph that says so.

    The memories have no texts.
    """

    lineage: Lineage
    roots: list[Memory]
    derived: list[Memory]

    @property
    def ids(self) -> set[str]:
        """All of them."""
        return {memory.id for memory in (*self.roots, *self.derived)}


class Surveyor:
    """Looks how far sources reach in one keep."""

    def __init__(self, ledger: Ledger, reader: Reader, kin: Kin, tickets: Tickets) -> None:
        self._ledger = ledger
        self._reader = reader
        self._kin = kin
        self._tickets = tickets

    def concerned(self, source: Source) -> Concerned:
        """What came from a source, and what was derived from that."""
        lineage = self._kin.lineage()
        roots = [memory for memory in lineage.memories.values() if source.wrote(memory)]
        first = self._first_event(source.since) if source.since is not None else 0
        found = lineage.derived({memory.id for memory in roots}, source.read_in(self._kin.read(), first))
        return Concerned(lineage, roots, [lineage.memories[memory_id] for memory_id in found])

    def _first_event(self, since: datetime) -> int:
        """The number of the first audit event that is not older; times in the log never go back."""
        low, high = 0, self._ledger.head.seq
        while low < high:
            middle = (low + high) // 2
            (event,) = self._ledger.events(after=middle, limit=1)
            low, high = (low, middle) if utc_moment(event.at) >= since else (middle + 1, high)
        return low + 1

    def reach(self, source: Source, most: int) -> dict[str, Any]:
        """Everything that a source reached, as JSON members; so many memories are shown, all are counted."""
        with self._ledger.reading():
            found = self.concerned(source)
            living = [memory for memory in (*found.roots, *found.derived) if memory.seq]
            roots, ids = {memory.id for memory in found.roots}, found.ids
            actions = self.actions(ids)
            return {
                "source": source.as_dict(),
                "roots": sum(memory.id in roots for memory in living),
                "derived": sum(memory.id not in roots for memory in living),
                "memories": [self._line(memory, ids, is_root=memory.id in roots) for memory in living[:most]],
                "sessions": self._sessions(found.lineage, ids),
                "actions": [record.as_dict() for record in actions],
                "done": sum(record.state == SPENT for record in actions),
            }

    def actions(self, ids: Collection[str]) -> list[TicketRecord]:
        """The calls in which one of these memories was matched, oldest first."""
        return [record for record in self._tickets.all() if not set(record.matched).isdisjoint(ids)]

    def kindred(self, ids: Iterable[str]) -> set[str]:
        """Everything that answers a question that one of these answers, and so on to the end.

        Only those can come to act, or cease to, when these go: witnesses and rivals answer the same question.
        """
        memories = self._kin.lineage().memories
        answering: defaultdict[str, list[str]] = defaultdict(list)
        for memory in memories.values():
            for key in memory.keys:
                answering[key].append(memory.id)
        found, waiting, asked = set[str](), list(ids), set[str]()
        while waiting:
            memory_id = waiting.pop()
            if memory_id in found or memory_id not in memories:
                continue
            found.add(memory_id)
            fresh = [key for key in memories[memory_id].keys if key not in asked]
            asked.update(fresh)
            waiting += [other for key in fresh for other in answering[key]]
        return found

    def _sessions(self, lineage: Lineage, ids: Collection[str]) -> list[dict[str, Any]]:
        """The sessions that were shown some of it: how much, some of it by name, and since when."""
        found: dict[str, dict[str, Any]] = {}
        for memory_id in sorted(ids):
            for session, since in lineage.seen.get(memory_id, {}).items():
                entry = found.setdefault(session, {"session": session, "memories": 0, "shown": [], "at": since.at})
                entry["memories"] += 1
                entry["at"] = min(entry["at"], since.at)
                if len(entry["shown"]) < _MOST_NAMED:
                    entry["shown"].append(memory_id)
        listed = sorted(found.values(), key=lambda one: (one["at"], one["session"]))
        return [one | {"at": utc_text(one["at"])} for one in listed]

    def _line(self, memory: Memory, ids: Collection[str], *, is_root: bool) -> dict[str, Any]:
        shown = self._reader.shown(self._kin.whole(memory))
        return {
            "id": memory.id,
            "as": "root" if is_root else "derived",
            "from": shown.origin,
            "session": memory.origin.session,
            "standing": memory.standing.label,
            "may_act": shown.may_act,
            "blocked": shown.blocked,
            "block_reason": list(shown.block_reason),
            "parents": [parent for parent in memory.origin.parents if parent in ids],
            "content": shown.text,
        }
