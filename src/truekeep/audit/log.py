"""The chronicle: which event of the audit log is of which kind, day and person, and names which memory.

Follows the log, so that a page of it, a count over days and the events about one memory need not read all of it again.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from truekeep.stores.audit import Touched
from truekeep.stores.base import EventRow
from truekeep.stores.ledger import Ledger
from truekeep.types import Decision

NAMED = ("memory", "target", "retired_by")
"""Members of events that hold a memory's id."""
REJECTED = "memory.rejected"
_WRITES = {"memory.stored": Decision.ACCEPT, "memory.changed": Decision.ACCEPT, REJECTED: Decision.REJECT}
_HELD, _OFFERED = "memory.held", frozenset({"memory", "change", "deletion"})
"""What is held because somebody wanted to write; the rest of what waits was in the keep already."""
_IDS = ("mem_", "inc_", "row-")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events: of a kind, by somebody, between two days; all that is given has to match."""

    kind: str | None = None
    actor: str | None = None
    since: date | None = None
    until: date | None = None
    """The last day."""


class Chronicle:
    """What is known about the events of one keep's log. An event's place here is its number less one."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._kinds, self._actors = _Names(), _Names()
        self._days = array("i")
        self._naming: dict[str, array[int]] = {}
        self._writes: Counter[tuple[int, Decision]] = Counter()
        self._rejected: dict[int, tuple[str, str | None] | None] = {}
        """Numbers of rejections; who was rejected, once somebody asked."""
        self._last_note = -1
        ledger.watch(self._note)

    def find(self, wanted: Wanted, *, before: int | None, limit: int) -> tuple[list[int], int]:
        """The newest events that are wanted, by number, newest first, and how many there are before ``before``."""
        import numpy as np  # noqa: PLC0415 - only where the log is looked through

        with self._ledger.reading(), self._lock:
            self._follow()
            size = len(self._days) if before is None else max(0, min(before - 1, len(self._days)))
            fits = np.ones(size, dtype=bool)
            for given, names in ((wanted.kind, self._kinds), (wanted.actor, self._actors)):
                if given is not None:
                    fits &= np.frombuffer(names.places, dtype=np.uint32)[:size] == names.number(given)
            days = np.frombuffer(self._days, dtype=np.int32)[:size]
            if wanted.since is not None:
                fits &= days >= wanted.since.toordinal()
            if wanted.until is not None:
                fits &= days <= wanted.until.toordinal()
            found = np.flatnonzero(fits)
            return [int(place) + 1 for place in found[::-1][:limit]], len(found)

    def kinds(self) -> dict[str, int]:
        """Every kind of event there is, and how many."""
        return self._counted(self._kinds)

    def actors(self) -> dict[str, int]:
        """Everybody who did something, and how much."""
        return self._counted(self._actors)

    def naming(self, memory_id: str) -> list[int]:
        """The numbers of the events that name a memory."""
        with self._ledger.reading(), self._lock:
            self._follow()
            return list(self._naming.get(memory_id, ()))

    def writes(self) -> Mapping[tuple[int, Decision], int]:
        """How many writes ended how on which day (an ordinal)."""
        with self._ledger.reading(), self._lock:
            self._follow()
            return dict(self._writes)

    def rejected(self, since: date, most: int) -> Counter[tuple[str, str | None]]:
        """The channels and principals of rejected writes since a day, of so many at most, the newest."""
        with self._ledger.reading(), self._lock:
            self._follow()
            numbers = [one for one in self._rejected if self._days[one - 1] >= since.toordinal()][-most:]
            for number in numbers:
                if self._rejected[number] is None:
                    self._rejected[number] = self._source(number)
            return Counter(found for number in numbers if (found := self._rejected[number]) is not None)

    def _source(self, number: int) -> tuple[str, str | None]:
        (event,) = self._ledger.events(after=number - 1, limit=1)
        note = self._ledger.get("notes", str(number))
        noted: dict[str, Any] = json.loads(note.row.body) if note is not None and note.verified else {}
        return str(json.loads(event.body).get("channel", "")), noted.get("principal")

    def _counted(self, names: _Names) -> dict[str, int]:
        with self._ledger.reading(), self._lock:
            self._follow()
            return names.counted()

    def _follow(self) -> None:
        """Take in what is new; what a transaction that is still open wrote may yet be thrown away."""
        known = len(self._days)
        for event in self._ledger.events(after=known, limit=max(0, self._ledger.head.seq - known)):
            self._take_in(event, json.loads(event.body))

    def _take_in(self, event: EventRow, body: Mapping[str, Any]) -> None:
        day = date.fromisoformat(event.at[:10]).toordinal()
        self._days.append(day)
        self._kinds.add(event.kind)
        self._actors.add(actor_of(body))
        for name in {*(body.get(name) for name in NAMED), *_listed(body.get("memories"))}:
            if isinstance(name, str):
                self._naming.setdefault(name, array("Q")).append(event.seq)
        verdict = _WRITES.get(event.kind)
        if event.kind == _HELD and body.get("what") in _OFFERED:
            verdict = Decision.QUARANTINE
        if verdict is not None:
            self._writes[day, verdict] += 1
        if event.kind == REJECTED:
            self._rejected[event.seq] = None

    def _note(self, changed: Sequence[Touched]) -> None:
        places = [place for table, place, _ in changed if table == "notes"]
        with self._lock:
            if any(place <= self._last_note for place in places):  # somebody was erased from the log
                self._rejected = dict.fromkeys(self._rejected)
            self._last_note = max([self._last_note, *places])


class _Names:
    """A name for each event, kept as a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._count: Counter[str] = Counter()
        self.places = array("I")

    def add(self, name: str) -> None:
        self.places.append(self._numbers.setdefault(name, len(self._numbers)))
        self._count[name] += 1

    def number(self, name: str) -> int:
        """The number of a name; one that no event has for one that is not known."""
        return self._numbers.get(name, len(self._numbers))

    def counted(self) -> dict[str, int]:
        return {name: count for name, count in sorted(self._count.items()) if name}


def actor_of(body: Mapping[str, Any]) -> str:
    """Who did something: a person, or the channel it came over; nothing for what the keep did by itself."""
    who = body.get("by") or body.get("channel") or body.get("via")
    return who if isinstance(who, str) and not who.startswith(_IDS) else ""


def _listed(value: Any) -> Iterable[str]:
    return value if isinstance(value, Collection) and not isinstance(value, str) else ()
