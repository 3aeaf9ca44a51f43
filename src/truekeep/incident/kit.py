"""The incident kit of a keep: trace, exposures and blame look back; revoke, rewind and undo take back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from truekeep.candidate import checked_text
from truekeep.chronicle import Chronicle
from truekeep.custody import Custody
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.incident import records
from truekeep.incident.account import Accounts
from truekeep.incident.kin import Kin
from truekeep.incident.reach import Surveyor
from truekeep.incident.records import Incident
from truekeep.incident.report import Report
from truekeep.incident.revoke import Revoker
from truekeep.incident.rewind import Rewinder
from truekeep.incident.source import Source
from truekeep.incident.trace import Tracer
from truekeep.origin import person_name
from truekeep.reading import Reader
from truekeep.register import Register
from truekeep.stores.ledger import Ledger
from truekeep.tickets import Tickets

_REASON_CAP = 2_000


class IncidentKit:
    """Looks back over one keep, and takes back. Only a person does the latter: each needs a name and a reason."""

    def __init__(
        self,
        ledger: Ledger,
        custody: Custody,
        reader: Reader,
        register: Register,
        chronicle: Chronicle,
        tickets: Tickets,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._custody = custody
        kin = Kin(ledger, register)
        self._surveyor = Surveyor(ledger, reader, kin, tickets)
        self._tracer = Tracer(ledger, reader, kin, tickets, chronicle)
        self._revoker = Revoker(ledger, custody, reader, self._surveyor, kin, tickets, clock)
        self._rewinder = Rewinder(ledger, custody, reader, clock)
        self._accounts = Accounts(ledger, custody, reader, kin, self._surveyor)

    def trace(self, memory_id: str, most: int | None = None) -> Report:
        """Where a memory came from, what came of it, who saw it, and what was decided about it."""
        return self._tracer.trace(memory_id, most)

    def exposures(self, memory_id: str) -> list[dict[str, Any]]:
        """Which sessions were shown a memory, and which actions it was matched in."""
        return self._tracer.exposures(memory_id)

    def blame(self, run: str) -> Report:
        """From a run's actions back to the memories in them, and to where those came from."""
        return self._tracer.blame(run)

    def reach(self, source: Source, *, most: int) -> dict[str, Any]:
        """How far a source reaches: memories, sessions and actions."""
        return self._surveyor.reach(source, most)

    def revoke(self, source: Source, *, by: str, reason: str, dry_run: bool) -> Report:
        """Take back what came from a source and what was derived from it; a dry run says what that would do."""
        return self._revoker.revoke(
            source, by=person_name(by), reason=checked_text(reason, _REASON_CAP), dry_run=dry_run
        )

    def rewind(self, to: datetime | int, *, by: str, reason: str, dry_run: bool) -> Report:
        """Put the memories back to what they were at a moment; a dry run says what that would change."""
        checked_text(reason, _REASON_CAP)
        return self._rewinder.rewind(to, by=person_name(by), reason=reason, dry_run=dry_run)

    def undo(self, incident_id: str, *, by: str, reason: str) -> Incident:
        """Take a revocation, a rewind or a consolidation back: what it removed returns, what it restored goes."""
        person_name(by)
        checked_text(reason, _REASON_CAP)
        with self._ledger.writing() as entry:
            found = records.find(self._ledger, incident_id)
            if found is None:
                raise UnknownId("No such incident.", hint="List them with 'truekeep incidents'.")
            sealed, incident = found
            if incident.undone_by is not None:
                raise InvalidRequest("This incident was undone already.", code="already_undone")
            incident = self._still_merged(incident) if incident.kind == records.CONSOLIDATE else incident
            current = (self._ledger.get("memories", memory_id) for memory_id, _ in incident.restored)
            self._custody.exchange(entry, [one for one in current if one], incident.removed, incident.id)
            self._custody.close_items(entry, incident.items)
            undone = replace(incident, undone_by=by)
            records.replace(entry, sealed, undone)
            entry.event("incident.undone", incident=incident.id, by=by, reason=reason)
        return undone

    def _still_merged(self, incident: Incident) -> Incident:
        """The part of a consolidation that can be undone: what was deleted, revoked or changed since stays so."""
        found = [(merged, originals) for merged in incident.restored if (originals := self._custody.originals(merged))]
        if not found:
            raise InvalidRequest(
                "What was merged then has been changed, taken out or merged again since.",
                code="changed_since",
                hint="Undo what came later first; 'truekeep incidents' lists it.",
            )
        removed = tuple(original for _, originals in found for original in originals)
        return replace(incident, removed=removed, restored=tuple(merged for merged, _ in found))

    def account(self, incident_id: str) -> Report:
        """What an incident took out or put back, who had seen it and what it had led to."""
        return self._accounts.of(incident_id)

    def listed(self) -> list[Incident]:
        """Every revocation, rewind and consolidation, oldest first."""
        return records.listed(self._ledger)
