"""One call that waits, with all that a person needs to decide: the dialog of inbox and calls, made in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from truekeep.act.call_desk import CallContext
from truekeep.act.question import ConfirmQuestion, question_about
from truekeep.act.tickets import DECLINED, OPEN, WAITING, TicketRecord
from truekeep.serve.console.desk import Desk
from truekeep.sessions.tools import declared_tools

if TYPE_CHECKING:
    from truekeep.keep import Keep


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call and the question about it."""

    record: TicketRecord
    question: ConfirmQuestion
    context: CallContext
    declared_by: str
    """Who declared the tool: ``operator``, ``host`` or ``nobody``."""
    taint: str
    """Why its session is not clean, if it is not."""


def asked_about(keep: Keep, ticket: str) -> AskedCall | None:
    """The question about a call that waits; nothing where none does."""
    found = keep.actions.tickets.get(ticket)
    if found is None or found[1].state != WAITING:
        return None
    return asked(keep, found[1])


def asked(keep: Keep, record: TicketRecord) -> AskedCall:
    """The question about a call."""
    host = keep.actions.declared(record.session)
    operator = declared_tools(keep.settings.tools)
    declared = "host" if record.action in host else "operator" if record.action in operator else "nobody"
    taint = keep.actions.why(record.id)["session_is_tainted_by"]
    return AskedCall(record, question_about(record), keep.calls.context(record), declared, taint)


def call_decided(desk: Desk, keep: Keep, ticket: str) -> TicketRecord | None:
    """The call that this person has just decided on and may still take back."""
    found = keep.actions.tickets.get(ticket) if ticket.startswith("tkt_") else None
    if found is None or found[1].state not in (OPEN, DECLINED):
        return None
    return found[1] if found[1].decided_by == desk.decides_as(keep) else None
