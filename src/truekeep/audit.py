"""The audit log as a reader sees it: events in order, and whether the store still is what they left behind."""

from __future__ import annotations

import json
from collections.abc import Iterable

from truekeep.stores.base import EventRow
from truekeep.stores.ledger import Ledger
from truekeep.types import AuditEvent, Verification, utc_moment


class Audit:
    """The audit log of one keep."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def events(self, *, after: int = 0, limit: int | None = None, kinds: Iterable[str] = ()) -> list[AuditEvent]:
        """Events in order, optionally only of some kinds."""
        wanted = frozenset(kinds)
        found = (_event(row) for row in self._ledger.events(after=after, limit=limit))
        return [event for event in found if not wanted or event.kind in wanted]

    def verify(self) -> Verification:
        """Check every row and every event again, from the beginning."""
        return self._ledger.verify()


def _event(row: EventRow) -> AuditEvent:
    body = json.loads(row.body)
    body.pop("rows", None)
    return AuditEvent(row.seq, utc_moment(row.at), row.kind, body, row.hash.hex())
