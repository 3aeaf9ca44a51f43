"""Take a source back: what came from it, and what was derived from that, leaves the keep and waits for a person.

A dry run does the whole of it in a transaction and throws that away, so the plan is what would happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.act.tickets import DECLINED, OPEN, SPENT, WAITING, TicketRecord, Tickets
from truekeep.incident import records
from truekeep.incident.records import Incident, rehearsing
from truekeep.incident.report import IncidentReport, ReportSection
from truekeep.stores.records import memory_from, new_id
from truekeep.types import Memory, utc_text

if TYPE_CHECKING:
    from truekeep.incident.reach import Kin, Surveyor
    from truekeep.incident.source import LineageView, Source
    from truekeep.quarantine.removal import Removal
    from truekeep.read.reader import RecordReader
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a revocation is about to do."""

    roots: list[Memory]
    derived: list[Memory]
    kept: list[Memory]
    """Derived, but stated by somebody else of at least that standing."""
    merged: set[str]
    """What no longer is a memory of its own, but part of one that goes."""

    @property
    def doomed(self) -> list[Memory]:
        return [*self.roots, *self.derived]


class Revoker:
    """Takes sources back from one keep."""

    def __init__(
        self,
        ledger: Ledger,
        removal: Removal,
        reader: RecordReader,
        surveyor: Surveyor,
        kin: Kin,
        tickets: Tickets,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._removal = removal
        self._reader = reader
        self._surveyor = surveyor
        self._kin = kin
        self._tickets = tickets
        self._clock = clock

    def revoke(self, source: Source, *, by: str, reason: str, dry_run: bool) -> IncidentReport:
        """Say what revoking a source would do, or do it."""
        report: list[IncidentReport] = []
        with rehearsing(self._ledger, dry_run=dry_run) as entry:
            incident_id = new_id("inc")
            apart = self._take_apart(entry, source, incident_id)
            scope = self._scope(source)
            doomed = {memory.id for memory in scope.doomed}
            pending, done = self._actions(doomed)
            sessions = self._sessions(doomed | scope.merged)
            kindred = self._surveyor.kindred(doomed) - doomed
            before = self._acting(kindred)
            incident = Incident(
                id=incident_id,
                kind=records.REVOKE,
                by=by,
                reason=reason,
                at=self._clock(),
                what=source.as_dict(),
                removed=tuple((memory.id, memory.version) for memory in scope.doomed),
            )
            items = self._removal.quarantine(entry, scope.doomed, incident.id)
            for record in pending:
                self._cancel(entry, record, incident.id)
            weakened = sorted(before - self._acting(kindred))
            gists = self._removal.drop_gists(entry, source.prompt) if source.prompt is not None else []
            incident = replace(incident, items=tuple(items), gists=tuple(gists))
            records.put(entry, incident)
            entry.event(
                "incident.revoked",
                incident=incident.id,
                by=by,
                reason=reason,
                source=source.as_dict(),
                memories=sorted(doomed),
            )
            report.append(self._report(incident, scope, apart, weakened, sessions, pending, done, dry_run=dry_run))
        return report[0]

    def _take_apart(self, entry: Entry, source: Source, incident_id: str) -> list[str]:
        """Take apart what was merged from this source's words and others', so that only its own go."""
        apart: list[str] = []
        while merged := self._kin.merged():
            concerned = self._surveyor.concerned(source).ids
            mixed = [name for name, said in merged.items() if said & concerned and said - concerned]
            for name in mixed:
                self._removal.take_apart(entry, name, incident_id)
            apart += mixed
            if not mixed:
                break
        return apart

    def _scope(self, source: Source) -> _Scope:
        found = self._surveyor.concerned(source)
        doomed = found.ids
        # What was merged is no longer there itself; it leads to what it became.
        roots, derived = self._living(found.roots), self._living(found.derived)
        kept = [memory for memory in derived if self._is_supported(memory, doomed, found.lineage)]
        saved = {memory.id for memory in kept}
        merged = doomed - {memory.id for memory in (*roots, *derived)}
        return _Scope(roots, [memory for memory in derived if memory.id not in saved], kept, merged)

    def _living(self, memories: Sequence[Memory]) -> list[Memory]:
        """Those that are in the keep, with their texts."""
        found = (self._ledger.get("memories", memory.id) for memory in memories)
        return [memory_from(sealed) for sealed in found if sealed is not None]

    def _is_supported(self, memory: Memory, doomed: set[str], lineage: LineageView) -> bool:
        """Whether somebody whose words stay says the same, with at least that standing."""
        others = self._removal.stating_the_same(memory)
        return any(
            other.id not in doomed
            and other.standing >= memory.standing
            and doomed.isdisjoint(lineage.ancestors(other.id))
            for other in others
        )

    def _actions(self, doomed: set[str]) -> tuple[list[TicketRecord], list[TicketRecord]]:
        touched = self._surveyor.actions(doomed)
        now = self._clock()
        pending = [one for one in touched if one.state in (OPEN, WAITING) and one.expires_at > now]
        return pending, [record for record in touched if record.state == SPENT]

    def _cancel(self, entry: Entry, record: TicketRecord, incident_id: str) -> None:
        found = self._tickets.get(record.id)
        if found is not None:
            self._tickets.replace(entry, found[0], replace(record, state=DECLINED, decided_by=incident_id))
            entry.event("action.declined", ticket=record.id, action=record.action, by=incident_id)

    def _sessions(self, doomed: set[str]) -> dict[str, list[str]]:
        """The sessions that were shown something of it, with how."""
        found: dict[str, list[str]] = {}
        for memory_id in sorted(doomed):
            for one in self._kin.exposures(memory_id):
                if one.how not in found.setdefault(one.session, []):
                    found[one.session].append(one.how)
        return found

    def _acting(self, ids: set[str]) -> set[str]:
        rows = (self._ledger.get("memories", memory_id) for memory_id in ids)
        memories = (memory_from(sealed) for sealed in rows if sealed is not None and sealed.verified)
        return {memory.id for memory in memories if self._reader.shown(memory).may_act}

    def _report(
        self,
        incident: Incident,
        scope: _Scope,
        apart: Sequence[str],
        weakened: Sequence[str],
        sessions: dict[str, list[str]],
        pending: Sequence[TicketRecord],
        done: Sequence[TicketRecord],
        *,
        dry_run: bool,
    ) -> IncidentReport:
        data: dict[str, Any] = {
            "incident": None if dry_run else incident.id,
            "dry_run": dry_run,
            "source": dict(incident.what),
            "memories": [self._line(memory, "root") for memory in scope.roots]
            + [self._line(memory, "derived") for memory in scope.derived],
            "kept": [self._line(memory, "kept") for memory in scope.kept],
            "taken_apart": list(apart),
            "weakened": list(weakened),
            "gists": [memory_id for memory_id, _ in incident.gists],
            "sessions": [{"session": name, "how": how} for name, how in sorted(sessions.items())],
            "actions": {"pending": [r.as_dict() for r in pending], "done": [r.as_dict() for r in done]},
        }
        facts = {
            "Source": ", ".join(f"{name} {value}" for name, value in incident.what.items()),
            "By": incident.by,
            "Reason": incident.reason,
            "When": utc_text(incident.at),
            "Memories": f"{len(scope.roots)} from it, {len(scope.derived)} derived, {len(scope.kept)} kept",
        } | ({} if dry_run else {"Undo": f"truekeep undo {incident.id}"})
        title = "What revoking would do" if dry_run else f"Revocation {incident.id}"
        return IncidentReport(title, facts, _sections(data), data)

    def _line(self, memory: Memory, why: str) -> dict[str, Any]:
        shown = self._reader.shown(memory)
        return {
            "id": memory.id,
            "as": why,
            "from": shown.origin,
            "standing": memory.standing.label,
            "content": shown.text,
        }


def _sections(data: dict[str, Any]) -> list[ReportSection]:
    def lines(entries: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
        return tuple((one["id"], one["as"], one["standing"], one["from"], one["content"]) for one in entries)

    def actions(entries: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
        return tuple((one["at"], one["action"], one["session"], one["run"], one["ticket"]) for one in entries)

    columns, calls = ("id", "as", "standing", "from", "says"), ("when", "action", "session", "run", "ticket")
    return [
        ReportSection("Taken out, to be looked at", columns, lines(data["memories"])),
        ReportSection("Derived, but stated by others too", columns, lines(data["kept"])),
        ReportSection(
            "Merged from it and from others, taken apart", ("id",), tuple((one,) for one in data["taken_apart"])
        ),
        ReportSection("No longer able to act", ("id",), tuple((one,) for one in data["weakened"])),
        ReportSection("Without the gist that it made", ("id",), tuple((one,) for one in data["gists"])),
        ReportSection(
            "Sessions that were shown some of it",
            ("session", "how"),
            tuple((one["session"], ", ".join(one["how"])) for one in data["sessions"]),
        ),
        ReportSection("Actions cancelled", calls, actions(data["actions"]["pending"])),
        ReportSection("Actions carried out already", calls, actions(data["actions"]["done"])),
    ]
