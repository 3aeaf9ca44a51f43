"""Incidents as sealed rows: what was taken back or restored, by whom and why, so that it can be undone.

A rehearsal does the whole of something in a transaction and throws it away, so that the plan is what would happen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest
from truekeep.stores.records import stored
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

REVOKE, REWIND, CONSOLIDATE = "revoke", "rewind", "consolidate"
FORGET, CORRECT = "forget", "correct"
"""What the owner did with a plain word."""
UPGRADE = "upgrade"
"""What an earlier version had learned was put into the owner's words."""

Version = tuple[str, int]
"""A memory's id and which version of it."""
SealedRow = tuple[str, str, str, str]
"""A row that says less now: its table, id and tag, and what it said."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One revocation, rewind or consolidation, or something the owner had forgotten or corrected."""

    id: str
    kind: str
    """``revoke``, ``rewind``, ``consolidate``, ``forget``, ``correct`` or ``upgrade``."""
    by: str
    reason: str
    at: datetime
    what: Mapping[str, str]
    removed: tuple[Version, ...] = ()
    restored: tuple[Version, ...] = ()
    items: tuple[str, ...] = field(default=())
    """Review items that were opened for what was removed."""
    gists: tuple[Version, ...] = ()
    """The versions that had gists of a revoked prompt."""
    undone_by: str | None = None
    stones: tuple[str, ...] = ()
    """The tombstones that forgetting left."""
    sealed: tuple[SealedRow, ...] = ()
    """What of other rows was forgotten, until it is undone or blanked; nobody is told."""

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


_INCIDENT = stored(Incident, given=("id",), sparse=("gists", "stones", "sealed"))


def put(entry: Entry, incident: Incident) -> None:
    """Write an incident, inside the transaction that carries it out."""
    entry.put("incidents", incident.id, _INCIDENT.write(incident), tag=incident.kind)


def replace(entry: Entry, sealed: Sealed, incident: Incident) -> None:
    """Write what became of an incident."""
    entry.replace("incidents", sealed.row, _INCIDENT.write(incident), tag=incident.kind)


def find(ledger: Ledger, incident_id: str) -> tuple[Sealed, Incident] | None:
    """One incident from its verified row."""
    sealed = ledger.get("incidents", incident_id) if isinstance(incident_id, str) else None
    return (sealed, _incident(sealed)) if sealed is not None and sealed.verified else None


def listed(ledger: Ledger, kind: str | None = None) -> list[Incident]:
    """Every incident, or every one of a kind, oldest first."""
    rows = ledger.all("incidents") if kind is None else ledger.tagged("incidents", kind, -1)
    return [_incident(sealed) for sealed in rows if sealed.verified]


def _incident(sealed: Sealed) -> Incident:
    return _INCIDENT.read(json.loads(sealed.row.body), id=sealed.row.id)


@dataclass(frozen=True, slots=True)
class ForgottenMatch:
    """One thing that the owner said and wants forgotten, or may want forgotten."""

    memory_id: str
    text: str
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What came of a wish to forget: what was forgotten, or what may be meant."""

    code: str
    """``forgotten``, ``would_forget``, ``unsure``, ``nothing_found`` or ``deletion_proposed``."""
    reason: str
    matches: tuple[ForgottenMatch, ...] = ()
    id: str | None = None
    """The incident by which it can be undone."""
    items: tuple[str, ...] = ()
    """What waits for the owner because an agent asked."""
    take_back: Callable[[], object] | None = field(default=None, compare=False, repr=False)

    @property
    def done(self) -> bool:
        """Whether the matches were forgotten."""
        return self.id is not None

    def undo(self) -> Any:
        """Bring back what was forgotten; a coroutine over an asynchronous client."""
        if self.take_back is None:
            raise InvalidRequest("Nothing was forgotten.", code="nothing_to_undo")
        return self.take_back()

    def as_dict(self) -> dict[str, Any]:
        """The answer as JSON members."""
        matches = [{"id": one.memory_id, "text": one.text, "as_of": utc_text(one.as_of)} for one in self.matches]
        return {
            "code": self.code,
            "reason": self.reason,
            "done": self.done,
            "matches": matches,
            "id": self.id,
            "items": list(self.items),
        }


class _Rehearsed(Exception):
    pass


@contextmanager
def rehearsing(ledger: Ledger, *, dry_run: bool) -> Iterator[Entry]:
    """One transaction; nothing is left of it if it is only a dry run."""
    try:
        with ledger.writing() as entry:
            yield entry
            if dry_run:
                raise _Rehearsed
    except _Rehearsed:
        pass
