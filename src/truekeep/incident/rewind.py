"""Put the memories back to what they were at an audited moment. Nothing is destroyed: a rewind can be undone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from truekeep.audit.log import ERASURE
from truekeep.errors import InvalidRequest
from truekeep.incident import records
from truekeep.incident.records import Incident, Version
from truekeep.incident.report import IncidentReport, ReportSection
from truekeep.records.rows import FORGOTTEN
from truekeep.stores.chain import ROTATED
from truekeep.stores.records import memory_from, new_id
from truekeep.types import Memory, Progress, utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.quarantine.removal import Removal
    from truekeep.read.reader import RecordReader
    from truekeep.stores.base import EventRow
    from truekeep.stores.ledger import Ledger, Sealed

Thing = TypeVar("Thing")
RESEALED, RESTORED = ("memories.reindexed", "memory.pinned", "memory.unpinned", ROTATED, ERASURE), "memory.restored"


@dataclass(frozen=True, slots=True)
class _Plan:
    remove: list[Sealed]
    restore: list[Version]
    lost: int
    """Memories of that moment whose text was erased since."""


class Rewinder:
    """Rewinds one keep."""

    def __init__(self, ledger: Ledger, removal: Removal, reader: RecordReader, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._removal = removal
        self._reader = reader
        self._clock = clock

    def rewind(
        self, to: datetime | int, *, by: str, reason: str, dry_run: bool, progress: Progress | None = None
    ) -> IncidentReport:
        """Say what rewinding to a moment, or to just after an audit event, would change; or do it."""
        with self._ledger.writing() if not dry_run else self._ledger.reading() as entry:
            events = self._ledger.events()
            at = _event_at(events, to)
            counted = _Counted(progress, len(events))
            plan = self._plan(events, at, counted)
            counted.more(len(plan.remove) + len(plan.restore))
            removed = [memory_from(sealed) for sealed in plan.remove]
            restored = [memory for memory in map(self._removal.version, plan.restore) if memory is not None]
            incident = Incident(
                id=new_id("inc"),
                kind=records.REWIND,
                by=by,
                reason=reason,
                at=self._clock(),
                what={"to": at.at, "event": str(at.seq)},
                removed=tuple((memory.id, memory.version) for memory in removed),
                restored=tuple(plan.restore),
            )
            if entry is not None:
                self._removal.exchange(entry, plan.remove, plan.restore, incident.id)
                records.put(entry, incident)
                entry.event("incident.rewound", incident=incident.id, by=by, reason=reason, to=at.seq)
            return self._report(incident, counted.each(removed), counted.each(restored), plan.lost, dry_run=dry_run)

    def _plan(self, events: Sequence[EventRow], at: EventRow, counted: _Counted) -> _Plan:
        then, alias = _places_at(counted.each(events), at.seq)
        current = {sealed.row.mac.hex(): sealed for sealed in self._ledger.all("memories") if sealed.verified}
        wanted = [_newest(mac, alias) for _, mac in sorted(then.items())]
        kept = {_newest(mac, alias): version for mac, version in self._kept().items()}
        missing = [mac for mac in wanted if mac not in current]
        restore = [kept[mac] for mac in missing if mac in kept]
        staying = set(wanted)
        remove = [sealed for mac, sealed in current.items() if mac not in staying]
        return _Plan(remove, restore, len(missing) - len(restore))

    def _kept(self) -> dict[str, Version]:
        """The versions in history, by the seal that their row had."""
        found: dict[str, Version] = {}
        for sealed in self._ledger.all("history"):
            if sealed.verified:
                body = json.loads(sealed.row.body)
                if "mac" in body and body["retired"] != FORGOTTEN:
                    found[body["mac"]] = (sealed.row.tag, body["version"])
        return found

    def _report(
        self, incident: Incident, removed: Iterable[Memory], restored: Iterable[Memory], lost: int, *, dry_run: bool
    ) -> IncidentReport:
        data: dict[str, Any] = {
            "incident": None if dry_run else incident.id,
            "dry_run": dry_run,
            "to": dict(incident.what),
            "removed": [self._line(memory) for memory in removed],
            "restored": [self._line(memory) for memory in restored],
            "lost": lost,
        }
        facts = {
            "To": f"{incident.what['to']} (event {incident.what['event']})",
            "By": incident.by,
            "Reason": incident.reason,
            "When": utc_text(incident.at),
            "Memories": f"{len(data['removed'])} taken out, {len(data['restored'])} brought back, {lost} erased since",
        } | ({} if dry_run else {"Undo": f"truekeep undo {incident.id}"})
        columns = ("id", "version", "says")
        sections = [
            ReportSection(title, columns, tuple((one["id"], str(one["version"]), one["content"]) for one in data[name]))
            for title, name in (("Taken out", "removed"), ("Brought back", "restored"))
        ]
        title = "What rewinding would do" if dry_run else f"Rewind {incident.id}"
        return IncidentReport(title, facts, sections, data)

    def _line(self, memory: Memory) -> dict[str, Any]:
        return {"id": memory.id, "version": memory.version, "content": self._reader.shown(memory).text}


class _Counted:
    """How many of the events and of the memories that would change were gone through."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._done, self._total = 0, total

    def more(self, count: int) -> None:
        """There is so much more to do than was known."""
        self._total += count

    def each(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """The things, each counted when it is done with."""
        for thing in things:
            yield thing
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)


def _event_at(events: Sequence[EventRow], to: datetime | int) -> EventRow:
    if isinstance(to, bool) or not isinstance(to, int | datetime):
        raise InvalidRequest("A rewind goes to a moment or to the number of an audit event.", code="invalid_moment")
    if isinstance(to, datetime) and to.tzinfo is None:
        raise InvalidRequest("The moment needs a time zone.", code="invalid_moment")
    found = [row for row in events if (row.seq <= to if isinstance(to, int) else utc_moment(row.at) <= to)]
    if not found:
        raise InvalidRequest(
            "Nothing had been written by then.", code="invalid_moment", hint="See 'truekeep audit events'."
        )
    return found[-1]


def _places_at(events: Iterable[EventRow], last: int) -> tuple[dict[int, str], dict[str, str]]:
    """Which seal stood at which place after an event; and under which newer one the same memory stands now.

    A memory gets a new seal without becoming another when its index card is made anew, when the keep's keys are
    rotated, when names that it carries are erased, and when it is put back.
    """
    places: dict[int, str] = {}
    then: dict[int, str] = {}
    alias: dict[str, str] = {}
    for row in events:
        body = json.loads(row.body)
        for table, seq, mac in body.get("rows", ()):
            if table != "memories":
                continue
            was = places.get(seq) if row.kind in RESEALED else body.get("was") if row.kind == RESTORED else None
            if mac is None:
                places.pop(seq, None)
            else:
                places[seq] = mac
                alias.pop(mac, None)  # back at a place where it stood before: it leads nowhere else now
                if was is not None and was != mac:
                    alias[was] = mac
        if row.seq == last:
            then = dict(places)
    return then, alias


def _newest(mac: str, alias: dict[str, str]) -> str:
    while mac in alias:
        mac = alias[mac]
    return mac
