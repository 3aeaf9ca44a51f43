"""Tickets: the act boundary's answers, as sealed rows. Each is bound to one call and can be used once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from truekeep.stores.audit import Touched
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.types import utc_moment, utc_text

OPEN, WAITING, SPENT, DENIED, DECLINED = "open", "waiting", "spent", "denied", "declined"


@dataclass(frozen=True, slots=True)
class TicketRecord:
    """What is known of one answer: the call, why it was answered so, and what became of it."""

    id: str
    session: str
    action: str
    call: str
    """The keyed hash of the name and the arguments."""
    arguments: str
    """The arguments as canonical JSON, for the person who confirms."""
    state: str
    """``open``, ``waiting`` for the owner, ``spent``, ``denied`` or ``declined``."""
    code: str
    reasons: tuple[str, ...]
    run: str
    at: datetime
    expires_at: datetime
    matched: tuple[str, ...] = ()
    """The memories whose values are in the call."""
    relied_on: tuple[str, ...] = ()
    """Those of them that proved a value."""
    request: tuple[str, int] | None = None
    """The owner's request that the call uses up."""
    grant: str | None = None
    decided_by: str | None = None
    spent_at: datetime | None = None
    is_consequential: bool = False

    @property
    def credited(self) -> tuple[str, ...]:
        """The memories that the outcome of the call speaks for, or against.

        An ordinary call is let through whatever its values are, so that it went well says nothing about them: whoever
        steers the agent could look a value up until outcomes prove it, or until they disprove a true one.
        """
        return self.matched if self.is_consequential or self.decided_by else ()

    def as_dict(self) -> dict[str, Any]:
        """The ticket as JSON members, without the hash."""
        return {
            "ticket": self.id,
            "session": self.session,
            "action": self.action,
            "arguments": json.loads(self.arguments),
            "state": self.state,
            "code": self.code,
            "reasons": list(self.reasons),
            "run": self.run,
            "at": utc_text(self.at),
            "expires_at": utc_text(self.expires_at),
            "memories": list(self.matched),
            "decided_by": self.decided_by,
            "spent_at": utc_text(self.spent_at) if self.spent_at else None,
        }


class Tickets:
    """The tickets of one keep, by session and by run. Follows every write of any process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._known: dict[int, TicketRecord] | None = None
        self._spent: dict[int, TicketRecord] = {}
        self._fresh: set[int] = set()
        ledger.watch(self._note)

    def get(self, ticket_id: str) -> tuple[Sealed, TicketRecord] | None:
        """One ticket from its verified row."""
        sealed = self._ledger.get("tickets", ticket_id)
        return (sealed, _record(sealed)) if sealed is not None and sealed.verified else None

    def put(self, entry: Entry, record: TicketRecord) -> None:
        """Write a new ticket, inside the transaction of its event."""
        entry.put("tickets", record.id, _body(record), tag=record.session)

    def replace(self, entry: Entry, sealed: Sealed, record: TicketRecord) -> None:
        """Write what became of a ticket, inside the transaction of its event."""
        entry.replace("tickets", sealed.row, _body(record), tag=record.session)

    def all(self) -> list[TicketRecord]:
        """Every ticket, oldest first; altered ones are left out."""
        with self._ledger.reading(), self._lock:
            return list(self._current().values())

    def spent(self) -> list[TicketRecord]:
        """The tickets that were used."""
        with self._ledger.reading(), self._lock:
            self._current()
            return list(self._spent.values())

    def _current(self) -> dict[int, TicketRecord]:
        if self._known is None:
            self._known, rows = {}, {sealed.row.seq: sealed for sealed in self._ledger.all("tickets")}
            self._take_in(self._known, rows, rows)
        elif self._fresh:
            places = sorted(self._fresh)
            self._take_in(self._known, places, self._ledger.at("tickets", places))
        self._fresh = set()
        return self._known

    def _take_in(self, known: dict[int, TicketRecord], places: Iterable[int], rows: Mapping[int, Sealed]) -> None:
        for seq in places:
            sealed = rows.get(seq)
            record = _record(sealed) if sealed is not None and sealed.verified else None
            self._spent.pop(seq, None)
            if record is None:
                known.pop(seq, None)
                continue
            known[seq] = record
            if record.state == SPENT:
                self._spent[seq] = record

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._known is not None:
            with self._lock:
                self._fresh |= {seq for table, seq, _ in changed if table == "tickets"}


def _body(record: TicketRecord) -> dict[str, Any]:
    members = {
        "v": 1,
        "session": record.session,
        "action": record.action,
        "call": record.call,
        "arguments": record.arguments,
        "state": record.state,
        "code": record.code,
        "reasons": list(record.reasons),
        "run": record.run,
        "at": utc_text(record.at),
        "expires_at": utc_text(record.expires_at),
        "matched": list(record.matched),
        "relied_on": list(record.relied_on),
        "request": record.request,
        "grant": record.grant,
        "decided_by": record.decided_by,
        "spent_at": utc_text(record.spent_at) if record.spent_at else None,
        "consequential": record.is_consequential or None,
    }
    return {name: value for name, value in members.items() if value not in (None, [])}


def _record(sealed: Sealed) -> TicketRecord:
    body = json.loads(sealed.row.body)
    request, spent_at = body.get("request"), body.get("spent_at")
    return TicketRecord(
        id=sealed.row.id,
        session=body["session"],
        action=body["action"],
        call=body["call"],
        arguments=body["arguments"],
        state=body["state"],
        code=body["code"],
        reasons=tuple(body.get("reasons", ())),
        run=body["run"],
        at=utc_moment(body["at"]),
        expires_at=utc_moment(body["expires_at"]),
        matched=tuple(body.get("matched", ())),
        relied_on=tuple(body.get("relied_on", ())),
        request=(request[0], request[1]) if request else None,
        grant=body.get("grant"),
        decided_by=body.get("decided_by"),
        spent_at=utc_moment(spent_at) if spent_at else None,
        is_consequential=body.get("consequential", False),
    )
