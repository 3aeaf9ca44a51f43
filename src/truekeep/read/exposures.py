"""Exposures: which sessions were shown a memory. Which actions relied on it is in their tickets (``tickets.py``).

A memory that a session was shown already is not written down again, so a conversation pays for each memory once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from truekeep.stores.audit import Touched
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import new_id
from truekeep.types import Memory, utc_moment, utc_text


@dataclass(frozen=True, slots=True)
class Exposure:
    """One moment in which memories were shown to a session."""

    id: str
    how: str
    """``recall``, ``list`` or ``snapshot``."""
    session: str
    at: datetime
    memories: tuple[tuple[str, int], ...]
    """Ids and versions."""
    order: int = 0
    """The number of the audit event that wrote it down; none in rows from before that was kept."""

    def as_dict(self) -> dict[str, Any]:
        """The exposure as JSON members."""
        return {
            "id": self.id,
            "how": self.how,
            "session": self.session,
            "at": utc_text(self.at),
            "memories": [memory_id for memory_id, _ in self.memories],
        }


@dataclass(frozen=True, slots=True)
class Access:
    """How often a memory was shown to a session, and when last."""

    times: int = 0
    last: datetime | None = None


class Exposures:
    """The exposures of one keep."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._lock = threading.RLock()
        self._shown: dict[str, set[tuple[str, int]]] = {}
        self._access: dict[str, Access] | None = None
        self._fresh: set[int] = set()
        ledger.watch(self._note)

    def show(self, session: str, memories: Iterable[Memory], how: str, entry: Entry | None = None) -> None:
        """Note that a session was shown these memories; inside the writer's transaction where there is one."""
        with self._lock:
            self._follow()
            known = self._shown.get(session, set())
            fresh = [(memory.id, memory.version) for memory in memories if (memory.id, memory.version) not in known]
        if fresh:
            with self._ledger.writing() if entry is None else nullcontext(entry) as open_entry:
                self._write(open_entry, Exposure("", how, session, self._clock(), tuple(fresh)))
                open_entry.event("memories.shown", session=session, how=how, count=len(fresh))

    def access(self, memory_id: str) -> Access:
        """How often, and when last, a memory was shown."""
        with self._lock:
            self._follow()
            return (self._access or {}).get(memory_id, Access())

    def of(self, memory_id: str) -> list[Exposure]:
        """Every exposure of a memory, oldest first."""
        return [found for found in self.all() if any(memory_id == one for one, _ in found.memories)]

    def all(self) -> list[Exposure]:
        """Every exposure, oldest first; altered rows are left out."""
        return [exposure_from(sealed) for sealed in self._ledger.all("exposures") if sealed.verified]

    def _write(self, entry: Entry, exposure: Exposure) -> None:
        body = {
            "v": 1,
            "how": exposure.how,
            "session": exposure.session,
            "at": utc_text(exposure.at),
            "memories": exposure.memories,
            "order": entry.number,
        }
        entry.put("exposures", new_id("exp"), body, tag=exposure.session)

    def _follow(self) -> None:
        """Count what is new since the last look; all of it at the first."""
        with self._ledger.reading():
            if self._access is None:
                self._access, found = {}, self.all()
            else:
                rows = self._ledger.at("exposures", sorted(self._fresh)) if self._fresh else {}
                if len(rows) < len(self._fresh):
                    self._access, self._shown, found = {}, {}, self.all()
                else:
                    found = [exposure_from(sealed) for sealed in rows.values() if sealed.verified]
            self._fresh = set()
        for exposure in found:
            self._shown.setdefault(exposure.session, set()).update(exposure.memories)
            for memory_id, _ in exposure.memories:
                before = self._access.get(memory_id, Access())
                self._access[memory_id] = Access(before.times + 1, exposure.at)

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._access is not None:
            with self._lock:
                self._fresh |= {seq for table, seq, _ in changed if table == "exposures"}


def exposure_from(sealed: Sealed) -> Exposure:
    """The exposure in a verified row."""
    body = json.loads(sealed.row.body)
    return Exposure(
        id=sealed.row.id,
        how=body["how"],
        session=body["session"],
        at=utc_moment(body["at"]),
        memories=tuple((memory_id, version) for memory_id, version in body["memories"]),
        order=body.get("order", 0),
    )
