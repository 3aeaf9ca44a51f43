"""Incidents as sealed rows: what was taken back or restored, by whom and why, so that it can be undone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.types import utc_moment, utc_text

REVOKE, REWIND, CONSOLIDATE = "revoke", "rewind", "consolidate"

Version = tuple[str, int]
"""A memory's id and which version of it."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One revocation, rewind or consolidation."""

    id: str
    kind: str
    """``revoke``, ``rewind`` or ``consolidate``."""
    by: str
    reason: str
    at: datetime
    what: Mapping[str, str]
    removed: tuple[Version, ...] = ()
    restored: tuple[Version, ...] = ()
    items: tuple[str, ...] = field(default=())
    """Review items that were opened for what was removed."""
    undone_by: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The incident as JSON members."""
        return {
            "id": self.id,
            "kind": self.kind,
            "by": self.by,
            "reason": self.reason,
            "at": utc_text(self.at),
            "what": dict(self.what),
            "removed": [memory_id for memory_id, _ in self.removed],
            "restored": [memory_id for memory_id, _ in self.restored],
            "undone_by": self.undone_by,
        }


def put(entry: Entry, incident: Incident) -> None:
    """Write an incident, inside the transaction that carries it out."""
    entry.put("incidents", incident.id, _body(incident), tag=incident.kind)


def replace(entry: Entry, sealed: Sealed, incident: Incident) -> None:
    """Write what became of an incident."""
    entry.replace("incidents", sealed.row, _body(incident), tag=incident.kind)


def find(ledger: Ledger, incident_id: str) -> tuple[Sealed, Incident] | None:
    """One incident from its verified row."""
    sealed = ledger.get("incidents", incident_id) if isinstance(incident_id, str) else None
    return (sealed, _incident(sealed)) if sealed is not None and sealed.verified else None


def listed(ledger: Ledger) -> list[Incident]:
    """Every incident, oldest first."""
    return [_incident(sealed) for sealed in ledger.all("incidents") if sealed.verified]


def _body(incident: Incident) -> dict[str, Any]:
    return {
        "v": 1,
        "kind": incident.kind,
        "by": incident.by,
        "reason": incident.reason,
        "at": utc_text(incident.at),
        "what": dict(incident.what),
        "removed": incident.removed,
        "restored": incident.restored,
        "items": incident.items,
        "undone_by": incident.undone_by,
    }


def _incident(sealed: Sealed) -> Incident:
    body = json.loads(sealed.row.body)
    return Incident(
        id=sealed.row.id,
        kind=body["kind"],
        by=body["by"],
        reason=body["reason"],
        at=utc_moment(body["at"]),
        what=body["what"],
        removed=tuple((memory_id, version) for memory_id, version in body["removed"]),
        restored=tuple((memory_id, version) for memory_id, version in body["restored"]),
        items=tuple(body["items"]),
        undone_by=body["undone_by"],
    )
