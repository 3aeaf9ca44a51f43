"""An incident told again: what was taken out or put back, by whom and why, who had seen it and what it had led to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from truekeep.custody import Custody
from truekeep.errors import UnknownId
from truekeep.incident import records
from truekeep.incident.kin import Kin
from truekeep.incident.reach import Surveyor
from truekeep.incident.records import Incident, Version
from truekeep.incident.report import Report, Section
from truekeep.reading import Reader
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.tickets import SPENT, TicketRecord
from truekeep.types import utc_text

_TITLES = {records.REVOKE: "Revocation", records.REWIND: "Rewind", records.CONSOLIDATE: "Consolidation"}


class Accounts:
    """Tells the incidents of one keep."""

    def __init__(self, ledger: Ledger, custody: Custody, reader: Reader, kin: Kin, surveyor: Surveyor) -> None:
        self._ledger = ledger
        self._custody = custody
        self._reader = reader
        self._kin = kin
        self._surveyor = surveyor

    def of(self, incident_id: str) -> Report:
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
        return Report(title, _facts(incident), _sections(data), data)

    def _lines(self, versions: Iterable[Version]) -> list[dict[str, Any]]:
        return [self._line(version) for version in versions]

    def _line(self, version: Version) -> dict[str, Any]:
        memory_id, number = version
        sealed = self._ledger.get("memories", memory_id)
        memory = self._custody.version(version)
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


def _sections(data: dict[str, Any]) -> list[Section]:
    def lines(entries: Iterable[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
        return tuple((e["id"], e["standing"] or "gone", e["from"] or "", e["content"] or "[erased]") for e in entries)

    def actions(entries: Iterable[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
        return tuple((e["at"], e["action"], e["session"], e["run"], e["ticket"]) for e in entries)

    columns, calls = ("id", "standing", "from", "says"), ("when", "action", "session", "run", "ticket")
    return [
        Section("Taken out", columns, lines(data["memories"])),
        Section("Brought back", columns, lines(data["brought_back"])),
        Section(
            "Sessions that were shown some of it",
            ("session", "how"),
            tuple((one["session"], ", ".join(one["how"])) for one in data["sessions"]),
        ),
        Section("Actions cancelled", calls, actions(data["actions"]["cancelled"])),
        Section("Actions carried out already", calls, actions(data["actions"]["done"])),
    ]
