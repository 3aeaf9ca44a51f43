"""The audit log as a reader sees it: events in order, and whether the store still is what they left behind.

``EventIndex`` follows the log and knows which event is of which kind, day and person and names which memory, so that a
page of it, a count over days and the events about one memory need not read all of it again.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from truekeep.config import PAGE_CAP
from truekeep.errors import InvalidRequest
from truekeep.stores.chain import is_restating
from truekeep.stores.table_view import TableChanges
from truekeep.types import AuditEvent, Decision, Verification, utc_moment

if TYPE_CHECKING:
    from truekeep.stores.base import EventRow
    from truekeep.stores.ledger import Ledger

NAMED = ("memory", "target", "retired_by")
"""Members of events that hold a memory's id."""
REJECTED = "memory.rejected"
_WRITES = {"memory.stored": Decision.ACCEPT, "memory.changed": Decision.ACCEPT, REJECTED: Decision.REJECT}
_HELD, _OFFERED = "memory.held", frozenset({"memory", "change", "deletion"})
"""What is held because somebody wanted to write; the rest of what waits was in the keep already."""
_IDS = ("mem_", "inc_", "row-")
ERASED = "[erased]"
"""What stands where a person or their words were erased."""
ERASURE = "subject.erased"
FORGETTING = "memory.forgotten"
_MOST_REJECTED = 2_000
"""Of how many rejections the sources are counted, the newest."""
_PORTION = 500
"""Events that an export reads at a time, so that writers get in between."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events: of a kind, by somebody, between two days; all that is given has to match."""

    kind: str | None = None
    actor: str | None = None
    since: date | None = None
    until: date | None = None
    """The last day."""


class EventIndex:
    """What is known about the events of one keep's log. An event's place here is its number less one."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._notes = TableChanges(ledger, "notes")
        self._begin()

    def _begin(self) -> None:
        """Know nothing: at first, and when names were erased in events that were taken in."""
        self._kinds, self._actors = _Names(), _Names()
        self._days = array("i")
        self._naming: dict[str, array[int]] = {}
        self._writes: Counter[tuple[int, Decision]] = Counter()
        self._rejected: dict[int, tuple[str, str | None] | None] = {}
        """Numbers of rejections; who was rejected, once somebody asked."""

    def find(self, wanted: EventFilter, *, before: int | None, limit: int) -> tuple[list[int], int]:
        """The newest events that are wanted, by number, newest first, and how many there are before ``before``."""
        import numpy as np  # noqa: PLC0415 - only where the log is looked through

        with self._ledger.reading():
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
        with self._ledger.reading():
            self._follow()
            return list(self._naming.get(memory_id, ()))

    def writes(self) -> Mapping[tuple[int, Decision], int]:
        """How many writes ended how on which day (an ordinal)."""
        with self._ledger.reading():
            self._follow()
            return dict(self._writes)

    def rejected(self, since: date, most: int) -> Counter[tuple[str, str | None]]:
        """The channels and principals of rejected writes since a day, of so many at most, the newest."""
        with self._ledger.reading():
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
        with self._ledger.reading():
            self._follow()
            return names.counted()

    def _follow(self) -> None:
        """Take in what is new; what a transaction that is still open wrote may yet be thrown away."""
        with self._notes.taken() as noted:
            known = len(self._days)
            if noted is not None and noted.places and any(self._rejected.values()):
                # Somebody may have been erased from the log: who was rejected is looked up again.
                written = {sealed.row.id for sealed in self._ledger.at("notes", sorted(noted.places)).values()}
                self._rejected |= {number: None for number in self._rejected if str(number) in written}
            fresh = self._ledger.events(after=known, limit=max(0, self._ledger.head.seq - known))
            if known and any(is_restating(event) for event in fresh):
                self._begin()
                fresh = self._ledger.events(limit=self._ledger.head.seq)
            for event in fresh:
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


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some events, newest first, and where those before them begin."""

    events: tuple[AuditEvent, ...]
    total: int
    """How many there are, from here back."""
    before: int | None = None
    """The number to ask for older ones with; none if these are the oldest."""


@dataclass(frozen=True, slots=True)
class WritesOfDay:
    """How many writes of one day ended how."""

    day: date
    accepted: int
    held: int
    rejected: int


class Audit:
    """The audit log of one keep."""

    def __init__(self, ledger: Ledger, event_index: EventIndex) -> None:
        self._ledger = ledger
        self._event_index = event_index

    def events(self, *, after: int = 0, limit: int | None = None, kinds: Iterable[str] = ()) -> list[AuditEvent]:
        """Events in order, optionally only of some kinds. What was erased from them reads ``[erased]``."""
        wanted = frozenset(kinds)
        with self._ledger.reading():
            rows = [row for row in self._ledger.events(after=after, limit=limit) if not wanted or row.kind in wanted]
            return [self._event(row) for row in rows]

    def page(self, wanted: EventFilter | None = None, *, before: int | None = None, limit: int = 50) -> AuditPage:
        """The newest events that are wanted, newest first; ``before`` is the page's before this one."""
        if not 1 <= limit <= PAGE_CAP:
            raise InvalidRequest(f"A page has from 1 to {PAGE_CAP:,} events.", code="invalid_limit")
        with self._ledger.reading():
            numbers, total = self._event_index.find(wanted or EventFilter(), before=before, limit=limit)
            events = tuple(self._event(row) for row in self._rows(numbers))
        return AuditPage(events, total, numbers[-1] if total > len(numbers) else None)

    def exported(self, wanted: EventFilter | None = None) -> Iterator[AuditEvent]:
        """All events that are wanted, newest first, read as they are asked for."""
        before: int | None = None
        while True:
            page = self.page(wanted, before=before, limit=_PORTION)
            yield from page.events
            if page.before is None:
                return
            before = page.before

    @property
    def head(self) -> int:
        """The number of the newest event."""
        with self._ledger.reading():
            return self._ledger.head.seq

    def kinds(self) -> dict[str, int]:
        """Every kind of event in the log, and how many."""
        return self._event_index.kinds()

    def actors(self) -> dict[str, int]:
        """Everybody who did something, people and channels, and how much."""
        return self._event_index.actors()

    def writes_by_day(self, last: date, days: int) -> list[WritesOfDay]:
        """How many writes were accepted, held and rejected on each of so many days, up to the last."""
        found = self._event_index.writes()

        def of(day: date, decision: Decision) -> int:
            return found.get((day.toordinal(), decision), 0)

        return [
            WritesOfDay(day, of(day, Decision.ACCEPT), of(day, Decision.QUARANTINE), of(day, Decision.REJECT))
            for day in (last - timedelta(days=ago) for ago in reversed(range(days)))
        ]

    def rejected_sources(self, since: date) -> Counter[tuple[str, str | None]]:
        """Over which channels, and from whom, rejected writes came since a day."""
        return self._event_index.rejected(since, _MOST_REJECTED)

    def verify(self) -> Verification:
        """Check every row and every event again, from the beginning."""
        return self._ledger.verify()

    def state(self) -> Verification:
        """What is known now: what the last check of everything found, and what was noticed since. It costs little."""
        return self._ledger.state()

    def _rows(self, numbers: Iterable[int]) -> Iterator[EventRow]:
        for number in numbers:
            yield from self._ledger.events(after=number - 1, limit=1)

    def _event(self, row: EventRow) -> AuditEvent:
        body = json.loads(row.body)
        body.pop("rows", None)
        if noted := body.pop("noted", None):
            body |= dict.fromkeys(noted, ERASED) | self._note(row.seq)
        return AuditEvent(row.seq, utc_moment(row.at), row.kind, body, row.hash.hex())

    def _note(self, seq: int) -> dict[str, str]:
        sealed = self._ledger.get("notes", str(seq))
        if sealed is None:
            return {}
        note: dict[str, str] = json.loads(sealed.row.body) if sealed.verified else {}
        return note
