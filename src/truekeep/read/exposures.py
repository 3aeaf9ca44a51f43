"""Exposures: which sessions were shown a memory. Which actions relied on it is in their tickets (``tickets.py``).

A memory that a session was shown already is not written down again, so a conversation pays for each memory once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.stores.records import new_id, stored
from truekeep.stores.table_view import TableChanges
from truekeep.types import Memory, utc_text

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed


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


_NEVER = Access()
_EXPOSURE = stored(Exposure, given=("id",), sparse=("order",))


class Exposures:
    """The exposures of one keep."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._changes = TableChanges(ledger, "exposures")
        self._shown: dict[str, set[tuple[str, int]]] = {}
        self._access: dict[str, Access] = {}

    def show(self, session: str, memories: Iterable[Memory], how: str, entry: Entry | None = None) -> None:
        """Note that a session was shown these memories; inside the writer's transaction where there is one."""
        with self._ledger.reading():
            self._follow()
            known = self._shown.get(session, set())
            fresh = [(memory.id, memory.version) for memory in memories if (memory.id, memory.version) not in known]
        if fresh:
            with self._ledger.writing() if entry is None else nullcontext(entry) as open_entry:
                shown = Exposure(new_id("exp"), how, session, self._clock(), tuple(fresh), open_entry.number)
                open_entry.put("exposures", shown.id, _EXPOSURE.write(shown), tag=session)
                open_entry.event("memories.shown", session=session, how=how, count=len(fresh))

    def access(self, memory_id: str) -> Access:
        """How often, and when last, a memory was shown."""
        with self._ledger.reading():
            self._follow()
            return self._access.get(memory_id, _NEVER)

    def of(self, memory_id: str) -> list[Exposure]:
        """Every exposure of a memory, oldest first."""
        return [found for found in self.all() if any(memory_id == one for one, _ in found.memories)]

    def all(self) -> list[Exposure]:
        """Every exposure, oldest first; altered rows are left out."""
        return [exposure_from(sealed) for sealed in self._ledger.all("exposures") if sealed.verified]

    def _follow(self) -> None:
        """Count what is new since the last look; all of it at the first, and after something was erased."""
        with self._changes.taken() as changed:
            if changed is None or changed.gone:
                self._access, self._shown, found = {}, {}, self.all()
            else:
                rows = self._ledger.at("exposures", sorted(changed.places)) if changed.places else {}
                found = [exposure_from(sealed) for sealed in rows.values() if sealed.verified]
            for exposure in found:
                self._shown.setdefault(exposure.session, set()).update(exposure.memories)
                for memory_id, _ in exposure.memories:
                    times = self._access.get(memory_id, _NEVER).times
                    self._access[memory_id] = Access(times + 1, exposure.at)


def exposure_from(sealed: Sealed) -> Exposure:
    """The exposure in a verified row."""
    return _EXPOSURE.read(json.loads(sealed.row.body), id=sealed.row.id)
