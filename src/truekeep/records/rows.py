"""Memory rows and their versions: how a memory is stored, replaced and removed, and what of it is kept.

``MemoryRows`` writes; only the gate and removal use it. A pin is put beside the words, which stay. ``Versions`` holds
what memories said earlier, and is searched by keywords when somebody asks how things stood at another time. What a
person deleted is not found in it: forgotten is forgotten, at any time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from truekeep import search
from truekeep.claims.contradictions import Contradictions, tag
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.records.catalog import Catalog, described
from truekeep.search import renewed
from truekeep.stores.records import memory_body, memory_from
from truekeep.stores.table_view import TableChanges
from truekeep.types import Memory, Standing, utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.claims.lineage import Lineage
    from truekeep.search import Index
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

CHANGED, DELETED, FELL, MERGED, FORGOTTEN, HELD = "changed", "deleted", "fell", "merged", "forgotten", "held"
REVOKED, REWOUND = "revoked", "rewound"
"""Why a version is in the history and no longer a memory; the last two are what people took back."""

Vector = Any
"""A vector as the embedder made it; it is only handed on."""


class MemoryRows:
    """Stores, replaces and removes the memories of one keep, inside the caller's transaction."""

    def __init__(self, ledger: Ledger, catalog: Catalog, contradictions: Contradictions, lineage: Lineage) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._contradictions = contradictions
        self._lineage = lineage

    def store(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        """Add a memory, and tell it and its rivals about each other."""
        return self._put(entry, replace(memory, order=entry.number), vector, related)

    def stand_in(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        """Add a memory that says again what others say; it keeps their place among what came before and after."""
        return self._put(entry, memory, vector, related)

    def _put(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        card = self._catalog.card(memory, vector)
        stored = replace(memory, seq=entry.put("memories", memory.id, memory_body(memory), tag(memory), card=card))
        self._contradictions.file(entry, stored, related)
        if stored.origin.parents:
            self._lineage.file(entry, stored)
        return stored

    def replace(
        self, entry: Entry, target: Memory, memory: Memory, vector: Vector | None, related: Iterable[Memory]
    ) -> Memory:
        """Put new content in the place of a memory; the old version goes to history."""
        sealed = self._ledger.get("memories", target.id)
        if sealed is None:
            raise UnknownId("The memory that was to be changed is gone.")
        if memory_from(sealed).version != target.version:
            raise InvalidRequest(
                "The memory was changed by somebody else meanwhile.", code="memory_changed", hint="Read it again."
            )
        version = self._next_version(target)
        # The owner's pin stays while people have a say in the words; a source that changes its own loses it.
        pinned = target.pinned and (memory.standing is Standing.OWNER or memory.approval is not None)
        newer = replace(memory, id=target.id, version=version, seq=target.seq, order=entry.number, pinned=pinned)
        self._contradictions.withdraw(entry, target)
        self._lineage.withdraw(entry, target)
        card = self._catalog.card(newer, vector)
        if sealed.verified:
            keep_version(entry, target, CHANGED, newer.begins)
            entry.replace("memories", sealed.row, memory_body(newer), tag(newer), card=card)
        else:
            # What somebody else wrote there is no version of it, and does not come back with a seal of ours.
            seq = entry.set("memories", target.id, memory_body(newer), tag(newer), card=card)
            newer = replace(newer, seq=seq)
        self._contradictions.file(entry, newer, related)
        if newer.origin.parents:
            self._lineage.file(entry, newer)
        return newer

    def take_from_history(
        self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]
    ) -> Memory:
        """Put a version from history back just as it was; it is no longer history then."""
        sealed = self._ledger.get("history", f"{memory.id}.{memory.version}")
        if sealed is not None:
            entry.remove("history", sealed.row)
        return self._put(entry, memory, vector, related)

    def bring_back(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        """Make a version that was kept the newest again: in its old place, or anew if the memory is gone."""
        sealed = self._ledger.get("memories", memory.id)
        if sealed is not None:
            return self.replace(entry, memory_from(sealed), memory, vector, related)
        return self.store(entry, replace(memory, version=self._next_version(memory)), vector, related)

    def _next_version(self, memory: Memory) -> int:
        """The number after the last one; a rewind may have put later versions than this one into history."""
        kept = (sealed for sealed in self._ledger.tagged("history", memory.id, limit=-1) if sealed.verified)
        return 1 + max([memory.version, *(memory_from(sealed).version for sealed in kept)])

    def remove(self, entry: Entry, sealed: Sealed, why: str, now: datetime, *, into: str | None = None) -> None:
        """Take a memory out of the keep. What was ours goes to history; ``into`` is what it became part of."""
        memory = memory_from(sealed)
        if sealed.verified:
            self._contradictions.withdraw(entry, memory)
            self._lineage.withdraw(entry, memory)
            keep_version(entry, memory, why, now, into=into)
        entry.remove("memories", sealed.row)


def put_pin(entry: Entry, sealed: Sealed, *, pinned: bool) -> None:
    """Change nothing about a memory but its pin: no word, no version and nothing that it acts by."""
    memory = replace(memory_from(sealed), pinned=pinned)
    blob = entry.card("memories", sealed.row.seq)
    card = renewed(blob, described(memory)) if blob is not None else None
    entry.replace("memories", sealed.row, memory_body(memory), tag(memory), card=card)


def keep_version(entry: Entry, memory: Memory, why: str, until: datetime, *, into: str | None = None) -> None:
    """Keep the version that is about to go, with the end of its time, so that it can be brought back."""
    body = memory_body(memory) | {"retired": why, "until": utc_text(until), "seq": memory.seq}
    if (mac := entry.known("memories", memory.seq)) is not None:
        body["mac"] = mac.hex()  # by which a rewind finds the version that stood there
    if into is not None:
        body["into"] = into
    entry.put("history", f"{memory.id}.{memory.version}", body, tag=memory.id)


@dataclass(frozen=True, slots=True)
class Version:
    """What a memory said before it was changed, and from when on it no longer did."""

    memory: Memory
    why: str
    until: datetime
    into: str | None = None
    """What it became part of, if it was merged."""


class Versions:
    """The earlier versions of one keep's memories."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._changes = TableChanges(ledger, "history")
        self._index: Index | None = None

    def search(self, question: str, *, today: date) -> Callable[[int], list[tuple[float, Version]]]:
        """Understand a question once; the answer gives the best k versions with their scores."""
        index = self._current()
        query = index.understand(question, today=today)

        def best(k: int) -> list[tuple[float, Version]]:
            hits = {hit.seq: hit.score for hit in index.search(query, k)}
            rows = self._ledger.at("history", list(hits))
            found = [(hits[seq], version) for seq, sealed in rows.items() if (version := version_in(sealed))]
            return [(score, version) for score, version in found if self._is_living(version.memory.id)]

        return best

    def versions(self, memory_id: str) -> list[Version]:
        """The versions that are kept of one memory, oldest first, whatever became of it."""
        rows = self._ledger.tagged("history", memory_id, limit=-1)
        found = [version for sealed in rows if (version := version_in(sealed))]
        if any(version.why == FORGOTTEN for version in found):
            return []  # sealed until the owner changes their mind, with all that it said before
        return sorted(found, key=lambda version: version.memory.version)

    def version(self, memory_id: str, number: int | None = None) -> Memory:
        """One version of a memory, whatever became of it; the newest, or the living one, without a number."""
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise InvalidRequest("A version is a whole number.", code="invalid_version")
        if not isinstance(memory_id, str):
            raise UnknownId("A memory's id is a string.", hint="keep.get_memories() lists them.")
        sealed = self._ledger.find_memory(memory_id)
        living = [memory_from(sealed)] if sealed is not None and sealed.verified else []
        kept = [one.memory for one in self.versions(memory_id)]
        found = [memory for memory in (*kept, *living) if number in (None, memory.version)]
        if number is None and not living:
            # Whoever brings a memory back wants what it said, and not what somebody had put over it by mistake.
            found = self._not_taken_back(memory_id) or found
        if not found:
            raise UnknownId("No such version in this keep.", hint="keep.history(memory_id) lists what there is.")
        return found[-1]

    def _not_taken_back(self, memory_id: str) -> list[Memory]:
        return [one.memory for one in self.versions(memory_id) if one.why not in (REVOKED, REWOUND)]

    def changed(self) -> list[Version]:
        """All earlier versions of memories that were changed and are still there."""
        versions = (version_in(sealed) for sealed in self._ledger.all("history"))
        changed = [version for version in versions if version is not None and version.why == CHANGED]
        return [version for version in changed if self._is_living(version.memory.id)]

    def _is_living(self, memory_id: str) -> bool:
        """Whether the memory is still there; of one that was forgotten no version comes back."""
        return self._ledger.get("memories", memory_id) is not None

    def _current(self) -> Index:
        with self._changes.taken() as changed:
            if self._index is None or changed is None:
                # The first search, or a change of which nobody knows what it touched.
                self._index = search.Index()
                self._take_in(self._index, self._ledger.all("history"))
            elif changed.places:
                rows = self._ledger.at("history", sorted(changed.places))
                self._index.remove(changed.gone | (changed.places - rows.keys()))
                self._take_in(self._index, rows.values())
        return self._index

    def _take_in(self, index: Index, rows: Iterable[Sealed]) -> None:
        found = ((sealed.row.seq, version_in(sealed)) for sealed in rows)
        index.load(
            (seq, described(version.memory).to_bytes())
            for seq, version in found
            if version is not None and version.why == CHANGED
        )


def merged_in(ledger: Ledger) -> dict[str, str]:
    """By its id, what each memory that was merged became part of."""
    found = (version_in(sealed) for sealed in ledger.all("history"))
    return {version.memory.id: version.into for version in found if version is not None and version.into is not None}


def now_part_of(memory_id: str, into: Mapping[str, str]) -> str:
    """What a memory is part of after all merges, or itself."""
    return _line(memory_id, into)[-1]


def stood_for(ids: Collection[str], into: Mapping[str, str]) -> set[str]:
    """All that some memories were merged from, to the end."""
    return {one for one in into if not set(_line(one, into)[1:]).isdisjoint(ids)}


def _line(memory_id: str, into: Mapping[str, str]) -> list[str]:
    """A memory, what it became part of, and so on."""
    found = {memory_id: None}
    while (memory_id := into.get(memory_id, memory_id)) not in found:
        found[memory_id] = None
    return list(found)


def version_in(sealed: Sealed) -> Version | None:
    """The version in a row of the history; an altered one is none."""
    if not sealed.verified:
        return None
    body = json.loads(sealed.row.body)
    memory = replace(memory_from(sealed), id=sealed.row.tag, seq=body["seq"])
    return Version(memory, body["retired"], utc_moment(body["until"]), body.get("into"))
