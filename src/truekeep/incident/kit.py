"""The incident kit of a keep: trace, exposures and blame look back; revoke, rewind and undo take back.

An account tells an incident again: what was taken out or put back, by whom and why, who had seen it and what it led to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.act.tickets import SPENT, TicketRecord, Tickets
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.incident import records
from truekeep.incident.reach import Kin, Surveyor
from truekeep.incident.report import IncidentReport, ReportSection
from truekeep.incident.revoke import Revoker
from truekeep.incident.rewind import Rewinder
from truekeep.incident.trace import Tracer
from truekeep.records.rows import version_in
from truekeep.stores.records import item_from, memory_from
from truekeep.trust.candidate import checked_reason
from truekeep.trust.origin import person_name
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.audit.log import EventIndex
    from truekeep.incident.records import Incident, Version
    from truekeep.incident.source import Source
    from truekeep.quarantine.removal import Removal
    from truekeep.read.reader import RecordReader
    from truekeep.records.origin_index import OriginIndex
    from truekeep.stores.ledger import Ledger
    from truekeep.types import Progress

_TITLES = {records.REVOKE: "Revocation", records.REWIND: "Rewind", records.CONSOLIDATE: "Consolidation"} | {
    records.FORGET: "Forgotten",
    records.CORRECT: "Corrected",
    records.UPGRADE: "Upgrade",
}


class Accounts:
    """Tells the incidents of one keep."""

    def __init__(self, ledger: Ledger, removal: Removal, reader: RecordReader, kin: Kin, surveyor: Surveyor) -> None:
        self._ledger = ledger
        self._removal = removal
        self._reader = reader
        self._kin = kin
        self._surveyor = surveyor

    def of(self, incident_id: str) -> IncidentReport:
        """The account of one incident, as far as it was not erased since."""
        with self._ledger.reading():
            found = records.find(self._ledger, incident_id)
            if found is None:
                raise UnknownId("No such incident.", hint="List them with 'truekeep incidents'.")
            _, incident = found
            removed, restored = self._lines(incident.removed), self._lines(incident.restored)
            concerned = {memory_id for memory_id, _ in incident.removed}
            done, cancelled = self._actions(concerned, incident.id)
            data = incident.as_dict() | {
                "memories": removed,
                "brought_back": restored,
                "sessions": self._sessions(concerned),
                "actions": {"done": [one.as_dict() for one in done], "cancelled": [one.as_dict() for one in cancelled]},
                "review_items": list(incident.items),
            }
        title = f"{_TITLES.get(incident.kind, incident.kind)} {incident.id}"
        return IncidentReport(title, _facts(incident), _sections(data), data)

    def _lines(self, versions: Iterable[Version]) -> list[dict[str, Any]]:
        return [self._line(version) for version in versions]

    def _line(self, version: Version) -> dict[str, Any]:
        memory_id, number = version
        sealed = self._ledger.get("memories", memory_id)
        memory = self._removal.version(version)
        if memory is None and sealed is not None and sealed.verified:
            memory = memory_from(sealed)
        if memory is None:
            return {"id": memory_id, "version": number, "from": None, "standing": None, "content": None}
        shown = self._reader.shown(memory)
        return {
            "id": memory_id,
            "version": number,
            "from": shown.origin,
            "standing": memory.standing.label,
            "content": shown.text,
        }

    def _sessions(self, ids: Collection[str]) -> list[dict[str, Any]]:
        found: dict[str, list[str]] = {}
        for memory_id in sorted(ids):
            for one in self._kin.exposures(memory_id):
                if one.how not in found.setdefault(one.session, []):
                    found[one.session].append(one.how)
        return [{"session": name, "how": how} for name, how in sorted(found.items())]

    def _actions(self, ids: Collection[str], incident_id: str) -> tuple[list[TicketRecord], list[TicketRecord]]:
        touched = self._surveyor.actions(ids)
        done = [record for record in touched if record.state == SPENT]
        return done, [record for record in touched if record.decided_by == incident_id]


def _facts(incident: Incident) -> dict[str, str]:
    facts = {
        "What": ", ".join(f"{name} {value}" for name, value in incident.what.items()),
        "By": incident.by,
        "Reason": incident.reason,
        "When": utc_text(incident.at),
        "Memories": f"{len(incident.removed)} taken out, {len(incident.restored)} brought back",
    }
    return facts | ({"Undone by": incident.undone_by} if incident.undone_by else {})


def _sections(data: dict[str, Any]) -> list[ReportSection]:
    def lines(entries: Iterable[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
        return tuple((e["id"], e["standing"] or "gone", e["from"] or "", e["content"] or "[erased]") for e in entries)

    def actions(entries: Iterable[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
        return tuple((e["at"], e["action"], e["session"], e["run"], e["ticket"]) for e in entries)

    columns, calls = ("id", "standing", "from", "says"), ("when", "action", "session", "run", "ticket")
    return [
        ReportSection("Taken out", columns, lines(data["memories"])),
        ReportSection("Brought back", columns, lines(data["brought_back"])),
        ReportSection(
            "Sessions that were shown some of it",
            ("session", "how"),
            tuple((one["session"], ", ".join(one["how"])) for one in data["sessions"]),
        ),
        ReportSection("Actions cancelled", calls, actions(data["actions"]["cancelled"])),
        ReportSection("Actions carried out already", calls, actions(data["actions"]["done"])),
    ]


class IncidentKit:
    """Looks back over one keep, and takes back. Only a person does the latter: each needs a name and a reason."""

    def __init__(
        self,
        ledger: Ledger,
        removal: Removal,
        reader: RecordReader,
        origin_index: OriginIndex,
        event_index: EventIndex,
        tickets: Tickets,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._removal = removal
        kin = Kin(ledger, origin_index)
        self._surveyor = Surveyor(ledger, reader, kin, tickets)
        self._tracer = Tracer(ledger, reader, kin, tickets, event_index)
        self._revoker = Revoker(ledger, removal, reader, self._surveyor, kin, tickets, clock)
        self._rewinder = Rewinder(ledger, removal, reader, clock)
        self._accounts = Accounts(ledger, removal, reader, kin, self._surveyor)

    def trace(self, memory_id: str, most: int | None = None) -> IncidentReport:
        """Where a memory came from, what came of it, who saw it, and what was decided about it."""
        return self._tracer.trace(memory_id, most)

    def exposures(self, memory_id: str) -> list[dict[str, Any]]:
        """Which sessions were shown a memory, and which actions it was matched in."""
        return self._tracer.exposures(memory_id)

    def blame(self, run: str) -> IncidentReport:
        """From a run's actions back to the memories in them, and to where those came from."""
        return self._tracer.blame(run)

    def reach(self, source: Source, *, most: int) -> dict[str, Any]:
        """How far a source reaches: memories, sessions and actions."""
        return self._surveyor.reach(source, most)

    def revoke(self, source: Source, *, by: str, reason: str, dry_run: bool) -> IncidentReport:
        """Take back what came from a source and what was derived from it; a dry run says what that would do."""
        return self._revoker.revoke(source, by=person_name(by), reason=checked_reason(reason), dry_run=dry_run)

    def rewind(
        self, to: datetime | int, *, by: str, reason: str, dry_run: bool, progress: Progress | None = None
    ) -> IncidentReport:
        """Put the memories back to what they were at a moment; a dry run says what that would change."""
        checked_reason(reason)
        return self._rewinder.rewind(to, by=person_name(by), reason=reason, dry_run=dry_run, progress=progress)

    def undo(self, incident_id: str, *, by: str, reason: str) -> Incident:
        """Take a revocation, a rewind or a consolidation back: what it removed returns, what it restored goes."""
        person_name(by)
        checked_reason(reason)
        with self._ledger.writing() as entry:
            found = records.find(self._ledger, incident_id)
            if found is None:
                raise UnknownId("No such incident.", hint="List them with 'truekeep incidents'.")
            sealed, incident = found
            if incident.undone_by is not None:
                raise InvalidRequest("This incident was undone already.", code="already_undone")
            incident = self._still_merged(incident) if incident.kind == records.CONSOLIDATE else incident
            incident = self._still_upgraded(incident) if incident.kind == records.UPGRADE else incident
            current = (self._ledger.get("memories", memory_id) for memory_id, _ in incident.restored)
            self._removal.exchange(entry, [one for one in current if one], incident.removed, incident.id)
            self._removal.close_items(entry, incident.items)
            self._removal.give_gists(entry, incident.gists)
            undone = replace(incident, undone_by=by)
            records.replace(entry, sealed, undone)
            entry.event("incident.undone", incident=incident.id, by=by, reason=reason)
        return undone

    def _still_merged(self, incident: Incident) -> Incident:
        """The part of a consolidation that can be undone: what was deleted, revoked or changed since stays so."""
        found = [(merged, originals) for merged in incident.restored if (originals := self._removal.originals(merged))]
        if not found:
            raise InvalidRequest(
                "What was merged then has been changed, taken out or merged again since.",
                code="changed_since",
                hint="Undo what came later first; 'truekeep incidents' lists it.",
            )
        removed = tuple(original for _, originals in found for original in originals)
        return replace(incident, removed=removed, restored=tuple(merged for merged, _ in found))

    def _still_upgraded(self, incident: Incident) -> Incident:
        """The part of an upgrade that can be undone: passages that are as they were made, and what still waits."""
        rows = ((made, self._ledger.get("memories", made[0])) for made in incident.restored)
        same = tuple(made for made, row in rows if row and row.verified and memory_from(row).version == made[1])
        items = (item_from(row) for one in incident.items if (row := self._ledger.get("queue", one)) is not None)
        there = {name for name, _ in same} | {item.id for item in items if item is not None and item.state == "open"}
        kept = ((old, self._ledger.get("history", f"{old[0]}.{old[1]}")) for old in incident.removed)
        found = ((old, version_in(row)) for old, row in kept if row is not None)
        removed = tuple(old for old, version in found if version is not None and version.into in there)
        return replace(incident, removed=removed, restored=same)

    def account(self, incident_id: str) -> IncidentReport:
        """What an incident took out or put back, who had seen it and what it had led to."""
        return self._accounts.of(incident_id)

    def listed(self) -> list[Incident]:
        """Every revocation, rewind and consolidation, oldest first."""
        return records.listed(self._ledger)
