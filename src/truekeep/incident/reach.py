"""How far a source reaches: what came from it, what was derived from that, who saw it and what was done with it.

``Kin`` holds memories and sessions without their texts, read once and followed from then on. This is a look only: what
taking the source back would change in who acts is told by a dry run (``revoke.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.act.tickets import SPENT, TicketRecord, Tickets
from truekeep.incident.source import LineageView, Source
from truekeep.read.exposures import Exposure, exposure_from
from truekeep.records.rows import Version, merged_in, now_part_of, version_in
from truekeep.sessions.transcripts import Observation, observations
from truekeep.stores.records import memory_from
from truekeep.stores.table_view import Derived, TableView
from truekeep.types import Memory, utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.read.reader import RecordReader
    from truekeep.records.origin_index import OriginIndex
    from truekeep.stores.ledger import Ledger, Sealed

_MOST_NAMED = 20
"""Memories that are named for each session; the rest is counted."""


class Kin:
    """Who is derived from whom in one keep, and who saw it."""

    def __init__(self, ledger: Ledger, origin_index: OriginIndex) -> None:
        self._ledger = ledger
        exposures = TableView(ledger, "exposures", exposure_from)
        self._read = TableView(ledger, "observations", _observed)
        self._merged = TableView(ledger, "history", _merged_version)
        self._lineage = Derived(_graph, origin_index.view, self._merged, exposures)
        self._shown = Derived(_by_memory, exposures)

    def lineage(self) -> LineageView:
        """The graph over everything that is in the keep now, and what was merged into it; altered rows are left out.

        Its memories have no texts: ``whole`` gives those.
        """
        with self._ledger.reading():
            return self._lineage.now()

    def whole(self, memory: Memory) -> Memory:
        """A memory of the graph with its text; one that was merged as it was before."""
        sealed = self._ledger.get("memories", memory.id)
        if sealed is not None:
            return memory_from(sealed)
        kept = self._ledger.get("history", f"{memory.id}.{memory.version}")
        return replace(memory_from(kept), id=memory.id) if kept is not None and kept.verified else memory

    def read(self) -> Iterable[Observation]:
        """What sessions took in, without the texts, oldest first."""
        return self._read.now().values()

    def exposures(self, memory_id: str) -> Sequence[Exposure]:
        """Every exposure of a memory, oldest first."""
        return self._shown.now().get(memory_id, ())

    def merged(self) -> dict[str, set[str]]:
        """By what stands for several memories now, all that were said one by one before any were merged."""
        if not self._merged.now():
            return {}
        into = merged_in(self._ledger)
        merges, found = set(into.values()), defaultdict[str, set[str]](set)
        for original in into.keys() - merges:
            found[now_part_of(original, into)].add(original)
        return {name: said for name, said in found.items() if self._ledger.get("memories", name) is not None}


def _graph(memories: Iterable[Memory], merged: Iterable[Version], exposures: Iterable[Exposure]) -> LineageView:
    listed = list(memories)
    living, versions = {memory.id for memory in listed}, list(merged)
    into = {version.memory.id: version.into for version in versions if version.into is not None}
    parts = [one.memory for one in versions if now_part_of(one.memory.id, into) in living]
    return LineageView.of([*parts, *listed], exposures)


def _by_memory(exposures: Iterable[Exposure]) -> Mapping[str, Sequence[Exposure]]:
    found: defaultdict[str, list[Exposure]] = defaultdict(list)
    for exposure in exposures:
        for memory_id in dict.fromkeys(memory_id for memory_id, _ in exposure.memories):
            found[memory_id].append(exposure)
    return found


def _merged_version(sealed: Sealed) -> Version | None:
    version = version_in(sealed)
    if version is None or version.into is None:
        return None
    return replace(version, memory=replace(version.memory, text="", topics=(), entities=(), metadata={}))


def _observed(sealed: Sealed) -> Observation | None:
    found = observations([sealed])
    return replace(found[0], text="", own="", pasted=()) if found else None


@dataclass(frozen=True, slots=True)
class Concerned:
    """What came from a source and what was derived from that, nearest first, with the graph that says so.

    The memories have no texts.
    """

    lineage: LineageView
    roots: list[Memory]
    derived: list[Memory]

    @property
    def ids(self) -> set[str]:
        """All of them."""
        return {memory.id for memory in (*self.roots, *self.derived)}


class Surveyor:
    """Looks how far sources reach in one keep."""

    def __init__(self, ledger: Ledger, reader: RecordReader, kin: Kin, tickets: Tickets) -> None:
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

    def _sessions(self, lineage: LineageView, ids: Collection[str]) -> list[dict[str, Any]]:
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
