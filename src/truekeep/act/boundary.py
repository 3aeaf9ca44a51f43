"""The act boundary of a keep: judge a call, hand out a ticket, let the owner confirm it, and redeem it once."""

from __future__ import annotations

import hmac
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from truekeep.action import (
    ActionJudgement,
    ActionsSettings,
    Answer,
    Evidence,
    MemoryTrust,
    Traced,
    canonical_call,
    judge,
)
from truekeep.channels import Channels
from truekeep.config import Settings
from truekeep.errors import TicketRefused, UnknownId
from truekeep.influence import Reader as ForWhom
from truekeep.origin import own_principal, require, session_name
from truekeep.reading import Reader
from truekeep.remembered import Remembered
from truekeep.sessions import Sessions
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from, new_id
from truekeep.tickets import DECLINED, DENIED, OPEN, SPENT, WAITING, TicketRecord, Tickets
from truekeep.transcripts import Transcripts

_STATES = {Answer.ALLOW: OPEN, Answer.CONFIRM: WAITING, Answer.DENY: DENIED}


@dataclass(frozen=True, slots=True)
class Ticket:
    """A single-use answer, bound to one call. It knows its boundary, and is its id when printed."""

    id: str
    _redeem: Callable[[str, str, Mapping[str, Any]], None] = field(repr=False, compare=False)

    def redeem(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Use it up for just this call; raises ``TicketRefused`` if it cannot be."""
        self._redeem(self.id, name, arguments)

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class ActionAnswer:
    """The boundary's answer to a call. It is true only when the call may go ahead now."""

    decision: Answer
    code: str
    reasons: tuple[str, ...]
    ticket: Ticket | None
    """What ``guard`` redeems; none for a call that is denied."""
    traced: tuple[Traced, ...]
    is_consequential: bool
    matched: tuple[str, ...] = ()
    """The memories whose values are in the call."""

    def __bool__(self) -> bool:
        return self.decision is Answer.ALLOW

    def as_dict(self) -> dict[str, Any]:
        """The answer as JSON members; values of arguments are not among them."""
        return {
            "decision": self.decision.value,
            "code": self.code,
            "reasons": list(self.reasons),
            "ticket": str(self.ticket) if self.ticket else None,
            "consequential": self.is_consequential,
            "arguments": [
                {"path": one.path, "from": one.provenance.name.lower(), "memory": one.memory_id} for one in self.traced
            ],
        }


class Boundary:
    """Judges the calls of one keep's sessions."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Channels,
        sessions: Sessions,
        transcripts: Transcripts,
        reader: Reader,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._sessions = sessions
        self._transcripts = transcripts
        self._reader = reader
        self._remembered = Remembered(ledger)
        self.tickets = Tickets(ledger)
        self._rules = ActionsSettings.from_table(settings.actions)
        self._life = timedelta(minutes=settings.ticket_minutes)
        self._clock = clock

    def check(
        self, session: str, name: str, arguments: Mapping[str, Any], whom: ForWhom, *, run: str | None = None
    ) -> ActionAnswer:
        """Judge a call by where each of its values came from, and keep the answer."""
        chosen_run = session_name(run if run is not None else session)
        call = canonical_call(name, arguments)
        with self._ledger.writing() as entry:
            judged = judge(name, arguments, self._evidence(session, replace(whom, purpose=name)), self._rules)
            record = self._record(session, name, call, judged, chosen_run)
            self.tickets.put(entry, record)
            entry.event(
                "action.judged",
                ticket=record.id,
                action=name,
                session=session,
                run=chosen_run,
                decision=judged.decision.value,
                code=judged.code,
            )
        ticket = None if judged.decision is Answer.DENY else Ticket(record.id, self.redeem)
        return ActionAnswer(
            judged.decision, judged.code, judged.reasons, ticket, judged.traced, judged.is_consequential, record.matched
        )

    def redeem(self, ticket_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up for just this call. A refusal is audited and raised as ``TicketRefused``."""
        call = self._digest(canonical_call(name, arguments))
        with self._ledger.writing() as entry:
            found = self.tickets.get(ticket_id) if isinstance(ticket_id, str) else None
            refusal = self._refusal(found[1] if found else None, call)
            if found is not None and refusal is None:
                sealed, record = found
                self.tickets.replace(entry, sealed, replace(record, state=SPENT, spent_at=self._clock()))
                entry.event("action.redeemed", ticket=record.id, action=record.action, run=record.run)
            else:
                known = found[1].id if found else None
                entry.event("ticket.refused", ticket=known, code=refusal[0] if refusal else "unknown_ticket")
        if refusal is not None:
            raise TicketRefused(refusal[1], code=refusal[0], hint="Ask the boundary again with check_action.")

    def confirm(self, ticket: Ticket | str, *, via: str) -> None:
        """The owner confirms just this call; only a channel with that capability can."""
        self._decide(str(ticket), via, OPEN, "confirmed")

    def decline(self, ticket: Ticket | str, *, via: str) -> None:
        """The owner turns a call down."""
        self._decide(str(ticket), via, DECLINED, "declined")

    def pending(self, session: str | None = None, *, via: str | None = None) -> list[TicketRecord]:
        """The calls that wait for the owner, oldest first; with ``via`` those that this channel can decide on."""
        now = self._clock()
        waiting = (record for record in self.tickets.all() if record.state == WAITING and record.expires_at > now)
        asked = [record for record in waiting if session is None or record.session == session]
        if via is None:
            return asked
        channel = self._channels.get(via)
        require(channel, "confirm")
        whose = own_principal(channel)
        return [record for record in asked if self._sessions.state(record.session).member == whose]

    def _decide(self, ticket_id: str, via: str, state: str, word: str) -> None:
        channel = self._channels.get(via)
        require(channel, "confirm")
        with self._ledger.writing() as entry:
            found = self.tickets.get(ticket_id)
            if found is None or found[1].state != WAITING:
                raise UnknownId("No such call waits for the owner.", code="unknown_ticket")
            sealed, record = found
            if record.expires_at <= self._clock():
                raise TicketRefused("The question has expired.", code="ticket_expired", hint="Check the action again.")
            if own_principal(channel) != self._sessions.state(record.session).member:
                raise TicketRefused("Another member's session asked.", code="another_member")
            self.tickets.replace(entry, sealed, replace(record, state=state, decided_by=channel.name))
            entry.event(f"action.{word}", ticket=record.id, action=record.action, by=channel.name)

    def _evidence(self, session: str, whom: ForWhom) -> Evidence:
        owner, observed, pasted = self._transcripts.of(session, self._sessions.state(session).member).indexes()
        memories, hearsay = self._remembered.indexes()
        now, known = self._clock(), dict[str, MemoryTrust | None]()

        def trust(memory_id: str) -> MemoryTrust | None:
            if memory_id not in known:
                known[memory_id] = self._trust(memory_id, whom, now)
            return known[memory_id]

        spent = self.tickets.spent()
        requests = frozenset(record.request for record in spent if record.request and record.session == session)
        return Evidence(owner, memories, hearsay, observed, trust, now, requests, _used_today(spent, now), pasted)

    def _trust(self, memory_id: str, whom: ForWhom, now: datetime) -> MemoryTrust | None:
        sealed = self._ledger.get("memories", memory_id)
        if sealed is None:
            return None
        memory = memory_from(sealed)
        return MemoryTrust(self._reader.shown(memory, now, whom=whom).may_act, memory.as_of)

    def _record(self, session: str, name: str, call: bytes, judged: ActionJudgement, run: str) -> TicketRecord:
        now = self._clock()
        return TicketRecord(
            id=new_id("tkt"),
            session=session,
            action=name,
            call=self._digest(call),
            arguments=json.dumps(json.loads(call)[1], ensure_ascii=False),
            state=_STATES[judged.decision],
            code=judged.code,
            reasons=judged.reasons,
            run=run,
            at=now,
            expires_at=now + self._life,
            matched=judged.matched,
            relied_on=judged.relied_on,
            request=judged.request,
            grant=judged.grant,
            is_consequential=judged.is_consequential,
        )

    def _digest(self, call: bytes) -> str:
        return self._ledger.digest("call", call.decode("ascii"))

    def _refusal(self, record: TicketRecord | None, call: str) -> tuple[str, str] | None:
        """Why a ticket cannot be used for a call now."""
        if record is None:
            return "unknown_ticket", "There is no such ticket."
        if record.state in (SPENT, DENIED, DECLINED):
            return f"ticket_{record.state}", f"The ticket is {record.state}."
        if record.state == WAITING:
            return "ticket_unconfirmed", "The owner has not confirmed this call."
        if record.expires_at <= self._clock():
            return "ticket_expired", "The ticket has expired."
        if not hmac.compare_digest(record.call, call):
            return "ticket_for_another_call", "The ticket is for another call."
        return None if record.decided_by else self._overtaken(record)

    def _overtaken(self, record: TicketRecord) -> tuple[str, str] | None:
        """What held when the call was judged has to hold still; what a person confirmed holds by that."""
        spent = self.tickets.spent()
        if record.request and any(one.session == record.session and one.request == record.request for one in spent):
            return "request_spent", "What the owner asked for was done already."
        if record.grant and not self._grant_left(record, spent):
            return "grant_spent", "The standing grant is used up for today."
        whom = ForWhom(self._sessions.state(record.session).member, self._channels.is_shared(), record.action)
        trusted = (self._trust(memory_id, whom, self._clock()) for memory_id in record.relied_on)
        if not all(trust is not None and trust.may_act for trust in trusted):
            return "proof_gone", "A memory that the call relied on may not act any more."
        return None

    def _grant_left(self, record: TicketRecord, spent: list[TicketRecord]) -> bool:
        grants = self._rules.of(record.action).grants
        grant = next((one for one in grants if one.name == record.grant), None)
        if grant is None:
            return False
        now = self._clock()
        return grant.covers(json.loads(record.arguments), now, _used_today(spent, now).get(grant.name, 0))


def _used_today(spent: list[TicketRecord], now: datetime) -> Mapping[str, int]:
    uses = Counter(one.grant for one in spent if one.grant and one.spent_at and one.spent_at.date() == now.date())
    return {str(name): count for name, count in uses.items()}
