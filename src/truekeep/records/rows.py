"""The archive: earlier versions of memories, searched only when somebody asks how things stood at another time.

It is searched by keywords. What a person deleted is not in it: forgotten is forgotten, at any time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from truekeep.catalog import described
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.memory_rows import CHANGED
from truekeep.search import Index
from truekeep.stores.audit import Touched
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from
from truekeep.types import Memory, utc_moment


@dataclass(frozen=True, slots=True)
class Version:
    """What a memory said before it was changed, and from when on it no longer did."""

    memory: Memory
    why: str
    until: datetime
    into: str | None = None
    """What it became part of, if it was merged."""


class Archive:
    """The earlier versions of one keep's memories."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._dirty: set[int] = set()
        ledger.watch(self._note)

    def search(self, question: str, *, today: date) -> Callable[[int], list[tuple[float, Version]]]:
        """Understand a question once; the answer gives the best k versions with their scores."""
        with self._ledger.reading(), self._lock:
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
        return sorted(found, key=lambda version: version.memory.version)

    def version(self, memory_id: str, number: int | None = None) -> Memory:
        """One version of a memory, whatever became of it; the newest, or the living one, without a number."""
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise InvalidRequest("A version is a whole number.", code="invalid_version")
        sealed = self._ledger.find_memory(memory_id) if isinstance(memory_id, str) else None
        living = [memory_from(sealed)] if sealed is not None and sealed.verified else []
        kept = [one.memory for one in self.versions(memory_id)] if isinstance(memory_id, str) else []
        found = [memory for memory in (*kept, *living) if number in (None, memory.version)]
        if not found:
            raise UnknownId("No such version in this keep.", hint="keep.history(memory_id) lists what there is.")
        return found[-1]

    def changed(self) -> list[Version]:
        """All earlier versions of memories that were changed and are still there."""
        versions = (version_in(sealed) for sealed in self._ledger.all("history"))
        changed = [version for version in versions if version is not None and version.why == CHANGED]
        return [version for version in changed if self._is_living(version.memory.id)]

    def _is_living(self, memory_id: str) -> bool:
        """Whether the memory is still there; of one that was forgotten no version comes back."""
        return self._ledger.get("memories", memory_id) is not None

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._index is not None:
            with self._lock:
                self._dirty |= {seq for table, seq, _ in changed if table == "history"}

    def _current(self) -> Index:
        if self._index is None:
            self._index = Index()
            self._take_in(self._index, self._ledger.all("history"))
        elif self._dirty:
            places, self._dirty = sorted(self._dirty), set()
            rows = self._ledger.at("history", places)
            self._index.remove(set(places) - rows.keys())
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
