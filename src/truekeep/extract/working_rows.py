"""Working memory as sealed rows: a session's data, context and life span. Its messages are the keep's observations."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from truekeep.extract.working import WorkingMemory
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.types import utc_moment, utc_text

FORMAT = 1


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
        known = self._ledger.get("working", memory.session)
        if known is None:
            entry.put("working", memory.session, _body(memory))
        else:
            entry.replace("working", known.row, _body(memory))

    def remove(self, entry: Entry, session: str) -> bool:
        """Take a session away inside the caller's transaction, altered or not; whether it was there."""
        known = self._ledger.get("working", session)
        if known is not None:
            entry.remove("working", known.row)
        return known is not None


def _body(memory: WorkingMemory) -> dict[str, Any]:
    return {
        "v": FORMAT,
        "created_at": utc_text(memory.created_at),
        "updated_at": utc_text(memory.updated_at),
        "data": dict(memory.data),
        "context": memory.context,
        "via": memory.via,
        "speaker": memory.speaker,
        "ttl_seconds": None if memory.ttl is None else memory.ttl.total_seconds(),
        "token_budget": memory.token_budget,
    }


def _memory(sealed: Sealed) -> WorkingMemory | None:
    if not sealed.verified:
        return None
    body = json.loads(sealed.row.body)
    if body["v"] != FORMAT:
        return None
    ttl = body["ttl_seconds"]
    return WorkingMemory(
        session=sealed.row.id,
        created_at=utc_moment(body["created_at"]),
        updated_at=utc_moment(body["updated_at"]),
        data=body["data"],
        context=body["context"],
        via=body["via"],
        speaker=body["speaker"],
        ttl=None if ttl is None else timedelta(seconds=ttl),
        token_budget=body["token_budget"],
    )
