"""Working memory as sealed rows: a session's data, context and life span. Its messages are the keep's observations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from truekeep.extract.working import WorkingMemory
from truekeep.stores.records import stored

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_WORKING = stored(WorkingMemory, given=("session", "messages"), names={"ttl": "ttl_seconds"})


class SealedWorking:
    """The working memories of one keep, without their messages."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def get(self, session: str) -> WorkingMemory | None:
        """The session of that name. One whose row was altered is not served: its data is nobody's."""
        sealed = self._ledger.get("working", session)
        return _memory(sealed) if sealed is not None else None

    def all(self) -> list[WorkingMemory]:
        """Every session, in the order in which they began."""
        found = (_memory(sealed) for sealed in self._ledger.all("working"))
        return [memory for memory in found if memory is not None]

    def put(self, entry: Entry, memory: WorkingMemory) -> None:
        """Keep a session inside the caller's transaction, in the place of its earlier state."""
        entry.set("working", memory.session, _WORKING.write(memory))

    def remove(self, entry: Entry, session: str) -> bool:
        """Take a session away inside the caller's transaction, altered or not; whether it was there."""
        known = self._ledger.get("working", session)
        if known is not None:
            entry.remove("working", known.row)
        return known is not None


def _memory(sealed: Sealed) -> WorkingMemory | None:
    return _WORKING.read(json.loads(sealed.row.body), session=sealed.row.id) if sealed.verified else None
