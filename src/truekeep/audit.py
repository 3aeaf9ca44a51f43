"""The audit log as a reader sees it: events in order, and whether the store still is what they left behind."""

from __future__ import annotations

import json
from collections.abc import Iterable

from truekeep.stores.base import EventRow
from truekeep.stores.ledger import Ledger
from truekeep.types import AuditEvent, Verification, utc_moment

ERASED = "[erased]"
"""What stands where a person or their words were erased."""


class Audit:
    """The audit log of one keep."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def events(self, *, after: int = 0, limit: int | None = None, kinds: Iterable[str] = ()) -> list[AuditEvent]:
        """Events in order, optionally only of some kinds. What was erased from them reads ``[erased]``."""
        wanted = frozenset(kinds)
        with self._ledger.reading():
            rows = [row for row in self._ledger.events(after=after, limit=limit) if not wanted or row.kind in wanted]
            return [self._event(row) for row in rows]

    def verify(self) -> Verification:
        """Check every row and every event again, from the beginning."""
        return self._ledger.verify()

    def state(self) -> Verification:
        """What is known now: what the last check of everything found, and what was noticed since. It costs little."""
        return self._ledger.state()

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
