"""Tickets: the act boundary's answers, as sealed rows. Each is bound to one call and can be used once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.stores.records import stored
from truekeep.stores.table_view import TableView
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_USED = ('"state":"spent"', '"decided_by":')
"""One of these stands in the row of every ticket that was used or confirmed."""
_MOST_ANSWERS = 256  # of one quiet spell; a host that asks more often is judged again
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
    matched_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those values, for each memory: an outcome speaks for them, and not for the rest of the memory."""
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What of the owner's requests and plan the call uses up."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value came from."""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Who wrote a value that the owner did not give, by its place in the call."""
    leaving: tuple[str, ...] = ()
    """Private values in the call that the owner did not call for."""
    values: tuple[str, ...] = ()
    """The values of the call in their normal form; once confirmed they are the owner's word in this session."""
    was_clean: bool = False
    """Whether the session was clean when the call was judged."""
    has_effects: bool = False
    decided_by: str | None = None
    spent_at: datetime | None = None

    @property
    def decision(self) -> str:
        """What the boundary answered."""
        if self.state == DENIED:
            return "deny"
        return "confirm" if self.decided_by is not None or self.state == WAITING else "allow"

    @property
    def is_confirmed(self) -> bool:
        """Whether a person said yes to it."""
        return self.decided_by is not None and self.state in (OPEN, SPENT)

    @property
    def credited(self) -> tuple[str, ...]:
        """The memories that the outcome of the call speaks for, or against.

        A reading call is let through whatever its values are, so that it went well says nothing about them: whoever
        steers the agent could look a value up until outcomes prove it, or until they disprove a true one.
        """
        return self.matched if self.has_effects or self.decided_by else ()

    def as_dict(self) -> dict[str, Any]:
        """The ticket as JSON members, without the hash."""
        return {
            "ticket": self.id,
            "session": self.session,
            "action": self.action,
            "arguments": json.loads(self.arguments),
            "state": self.state,
            "decision": self.decision,
            "code": self.code,
            "reasons": list(self.reasons),
            "run": self.run,
            "at": utc_text(self.at),
            "expires_at": utc_text(self.expires_at),
            "memories": list(self.matched),
            "effects": self.has_effects,
            "decided_by": self.decided_by,
            "spent_at": utc_text(self.spent_at) if self.spent_at else None,
        }


_TICKET = stored(
    TicketRecord,
    given=("id",),
    sparse=(
        "reasons",
        "matched",
        "matched_values",
        "uses",
        "origins",
        "sources",
        "leaving",
        "values",
        "was_clean",
        "has_effects",
        "decided_by",
        "spent_at",
    ),
    # What 0.1.0 called the consequence of a call are its effects.
    names={"has_effects": "consequential"},
)


class QuietSpell:
    """The newest answers that nothing was written after but other answers, so that they would be given again.

    Everything that an answer depends on (messages, results, memories, grants, plans, confirmations, spent tickets) is
    written with an event, by whichever process, so the number of the next event tells whether any of it has moved.
    An answer itself moves nothing until it is confirmed or redeemed. Called inside a transaction.
    """

    def __init__(self) -> None:
        self._next = 0
        self._tickets: set[str] = set()

    def answered(self, ticket_id: str, before: int, after: int) -> None:
        """Note an answer: the numbers of the next event before it was written, and after."""
        if before != self._next or len(self._tickets) >= _MOST_ANSWERS:
            self._tickets = set()
        self._tickets.add(ticket_id)
        self._next = after

    def holds(self, ticket_id: str, number: int) -> bool:
        """Whether nothing but answers was written since this one, now that the next event has that number."""
        return number == self._next and ticket_id in self._tickets


class Tickets:
    """The tickets of one keep, by session and by run. Follows every write of any process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.view = TableView(ledger, "tickets", _record)
        self._used = TableView(ledger, "tickets", _used)

    def get(self, ticket_id: str) -> tuple[Sealed, TicketRecord] | None:
        """One ticket from its verified row."""
        sealed = self._ledger.get("tickets", ticket_id)
        return (sealed, _record(sealed)) if sealed is not None and sealed.verified else None

    def settle(
        self, entry: Entry, found: tuple[Sealed, TicketRecord] | None, refusal: str | None, now: datetime
    ) -> None:
        """Use a ticket up, or write down that it was refused and why."""
        if found is not None and refusal is None:
            sealed, record = found
            self.replace(entry, sealed, replace(record, state=SPENT, spent_at=now))
            entry.event("action.redeemed", ticket=record.id, action=record.action, run=record.run)
        else:
            entry.event("ticket.refused", ticket=found[1].id if found else None, code=refusal or "unknown_ticket")

    def put(self, entry: Entry, record: TicketRecord) -> None:
        """Write a new ticket, inside the transaction of its event."""
        entry.put("tickets", record.id, _TICKET.write(record), tag=record.session)

    def replace(self, entry: Entry, sealed: Sealed, record: TicketRecord) -> None:
        """Write what became of a ticket, inside the transaction of its event."""
        entry.replace("tickets", sealed.row, _TICKET.write(record), tag=record.session)

    def all(self) -> list[TicketRecord]:
        """Every ticket, oldest first; altered ones are left out."""
        return list(self.view.now().values())

    def spent(self) -> list[TicketRecord]:
        """The tickets that were used."""
        return [record for record in self._used.now().values() if record.state == SPENT]

    def used_in(self, session: str) -> list[TicketRecord]:
        """A session's tickets that were used or confirmed: what later calls are judged by."""
        return [record for record in self._used.now().values() if record.session == session]


def _record(sealed: Sealed) -> TicketRecord:
    return _TICKET.read(json.loads(sealed.row.body), id=sealed.row.id)


def _used(sealed: Sealed) -> TicketRecord | None:
    if all(mark not in sealed.row.body for mark in _USED):
        return None  # most are not, and each that is written is looked at by the next call
    record = _record(sealed)
    return record if record.state == SPENT or record.is_confirmed else None
