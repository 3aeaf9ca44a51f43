"""The act boundary of a keep: judge a call, hand out a ticket, let the owner confirm it, and redeem it once.

The answer itself is a pure function of what a session offers as evidence (``trust.flow``, ``act.gathering``). This
module keeps the answers as sealed rows, and judges once more when a ticket is redeemed: what was withdrawn, used up or
lost its proof in between does not go through.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from truekeep.act.calls import canonical_call, checked_name, plain_arguments
from truekeep.act.gathering import Gathering
from truekeep.act.grants import Grants
from truekeep.act.question import ConfirmQuestion, question_about
from truekeep.act.tickets import DECLINED, DENIED, OPEN, WAITING, QuietSpell, TicketRecord, Tickets
from truekeep.errors import InvalidRequest, TicketRefused, UnknownId
from truekeep.sessions.tools import declared_tools
from truekeep.stores.records import new_id
from truekeep.text.view import WATCH
from truekeep.trust import fence
from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.decide import Answer, CallJudgement, judge, judge_call, taken_apart
from truekeep.trust.flow.evidence import SessionEvidence, ValueOrigin
from truekeep.trust.flow.leaks import is_called_for, is_private, telling_values
from truekeep.trust.flow.reading import TextReading, read
from truekeep.trust.flow.reply import CheckedReply, check_reply
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole
from truekeep.trust.flow.scope import reading_scopes
from truekeep.trust.flow.stored import StoredIndex
from truekeep.trust.flow.tools import Tool, tool_for
from truekeep.trust.origin import own_principal, require, session_name

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.read.reader import RecordReader
    from truekeep.sessions.channels import Channels
    from truekeep.sessions.sessions import Sessions
    from truekeep.sessions.transcripts import Observation
    from truekeep.stores.ledger import Ledger

_STATES = {Answer.ALLOW: OPEN, Answer.CONFIRM: WAITING, Answer.DENY: DENIED}
_WRITERS_MOST, _LEAVING_MOST = 3, 20
"""What one question tells of at most; a person reads no more."""
_SAME_MOMENT = timedelta(seconds=5)
"""How long an answer needs no second judgement if nothing was written since; what only time ends has to end by then."""
_MATCHED_MOST = 50
"""Memories that one call is said to have matched; a value that stands in more of them says nothing about any."""


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
class Traced:
    """One argument value: where it stands in the call and where it came from. It never holds the value."""

    path: str
    origin: ValueOrigin
    sources: tuple[str, ...] = ()
    """Ids of the memories and observed texts that a value stands in."""


@dataclass(frozen=True, slots=True)
class ActionAnswer:
    """The boundary's answer to a call. It is true only when the call may go ahead now."""

    decision: Answer
    code: str
    reasons: tuple[str, ...]
    ticket: Ticket | None
    """What ``guard`` redeems; none for a call that is denied."""
    traced: tuple[Traced, ...] = ()
    has_effects: bool = True
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
            "effects": self.has_effects,
            "arguments": [
                {"path": one.path, "from": one.origin.value, "sources": list(one.sources)} for one in self.traced
            ],
        }


class Boundary:
    """Judges the calls of one keep's sessions."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Channels,
        sessions: Sessions,
        reader: RecordReader,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._sessions = sessions
        self._life = timedelta(minutes=settings.ticket_minutes)
        self._clock = clock
        self._quiet = QuietSpell()
        self.tickets = Tickets(ledger)
        self.grants = Grants(ledger, channels, clock)
        self._gathering = Gathering(
            ledger, channels, sessions, reader, self.tickets, self.grants, declared_tools(settings.tools), clock
        )

    def check(self, session: str, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Judge a call by where each of its values came from, and keep the answer."""
        with WATCH.get()("act"):
            chosen_run = session_name(run if run is not None else session)
            name, given = checked_name(name), plain_arguments(arguments)
            with self._ledger.writing() as entry:
                before = entry.number
                evidence = self.evidence(session, name)
                call = taken_apart(evidence, name, given)
                judged = judge_call(evidence, call)
                record = self._record(session, call, given, judged, chosen_run, evidence)
                self.tickets.put(entry, record)
                entry.event(
                    "action.judged",
                    ticket=record.id,
                    action=name,
                    session=session,
                    run=chosen_run,
                    decision=judged.answer.value,
                    code=judged.code,
                    clean=evidence.clean,
                )
                self._quiet.answered(record.id, before, entry.number)
            ticket = None if judged.answer is Answer.DENY else Ticket(record.id, self.redeem)
            return ActionAnswer(
                judged.answer,
                judged.code,
                judged.reasons,
                ticket,
                tuple(_traced(judged)),
                record.has_effects,
                record.matched,
            )

    def weigh(self, session: str, name: str, arguments: Mapping[str, Any]) -> CallJudgement:
        """What a call would be answered, for whoever only watches: nothing is kept, and there is no ticket."""
        name, given = checked_name(name), plain_arguments(arguments)
        with self._ledger.reading():
            evidence = self.evidence(session_name(session), name)
            return judge_call(evidence, taken_apart(evidence, name, given))

    def reply(self, session: str, text: str) -> CheckedReply:
        """The agent's answer to the owner, without links and images that would carry private values away."""
        with self._ledger.reading():
            return check_reply(self.evidence(session), text)

    def together(self) -> AbstractContextManager[None]:
        """Several answers that nothing is done on before the block ends, which share one write of the anchor."""
        return self._ledger.group()

    def redeem(self, ticket_id: str, name: str, arguments: Mapping[str, Any], session: str | None = None) -> None:
        """Use a ticket up for just this call. A refusal is audited and raised as ``TicketRefused``."""
        refused = self.redeem_together([(ticket_id, name, arguments)], session)[0]
        if refused is not None:
            raise refused

    def redeem_together(
        self, calls: Sequence[tuple[str, str, Mapping[str, Any]]], session: str | None = None
    ) -> list[TicketRefused | None]:
        """Use tickets up for calls that a model made in one turn; gives for each nothing, or why it was refused.

        They are judged again before any of them is used up: what one of them will read cannot have steered another.
        Calls with effects can use up the same request of the owner's, so those are redeemed one after the other.
        """
        with WATCH.get()("act"):
            digests = [self._digest(name, plain_arguments(arguments)) for _, name, arguments in calls]
            with self._ledger.writing() as entry:
                found = [self.tickets.get(one) if isinstance(one, str) else None for one, _, _ in calls]
                if len(calls) > 1 and any(one is not None and one[1].has_effects for one in found):
                    raise InvalidRequest(
                        "Calls with effects are redeemed one after the other.", code="calls_with_effects"
                    )
                refusals = [
                    self._refusal(one[1] if one else None, call, session, entry.number)
                    for one, call in zip(found, digests, strict=True)
                ]
                for one, refusal in zip(found, refusals, strict=True):
                    self.tickets.settle(entry, one, refusal[0] if refusal else None, self._clock())
            hint = "Ask the boundary again with check_action."
            return [TicketRefused(why[1], code=why[0], hint=hint) if why else None for why in refusals]

    def confirm(self, ticket: Ticket | str, *, via: str) -> None:
        """The owner confirms just this call; only a channel with that capability can.

        Its values count as the owner's word for the rest of the session.
        """
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

    def why(self, ticket_id: str, *, via: str | None = None) -> dict[str, Any]:
        """How an answer came about: the call, its reasons, where each value came from, what tainted the session.

        With ``via`` only what that channel could decide on is told.
        """
        found = self.tickets.get(ticket_id) if isinstance(ticket_id, str) else None
        state = self._sessions.state(found[1].session if found else None)
        if found is None or (via is not None and own_principal(self._channels.get(via)) != state.member):
            raise UnknownId("No such ticket.", code="unknown_ticket", hint="Answers and the audit log name tickets.")
        record = found[1]
        return record.as_dict() | {
            "values": question_about(record).as_dict()["values"],
            "leaving": list(record.leaving),
            "session_was_clean": record.was_clean,
            "session_is_tainted_by": state.taint or ("" if state.is_mediated else "Nobody mediates this session."),
        }

    def question(self, ticket_id: str) -> ConfirmQuestion | None:
        """What the owner is asked about a call; nothing if there is no such ticket."""
        found = self.tickets.get(ticket_id)
        return question_about(found[1]) if found is not None else None

    def took_in(self, session: str) -> Sequence[Observation]:
        """What a session took in, oldest first, for a host that resumes it and has to tell what is new."""
        return self._sessions.observations(session_name(session))

    def tool(self, session: str, name: str) -> Tool:
        """What is declared about a tool in a session; unknown ones have effects."""
        return tool_for(name, self._gathering.declared(self._sessions.state(session)))

    def declared(self, session: str) -> dict[str, Tool]:
        """What the host declared in just this session, by name."""
        return dict(self._sessions.state(session).tools)

    def take_in(self, session: str) -> None:
        """Read what a session took in as soon as it is there, so that no call has to wait for it."""
        self._gathering.take_in(session)

    def evidence(self, session: str, purpose: str | None = None) -> SessionEvidence:
        """Everything this session could have got a value from, for a call of the tool that is its purpose."""
        return self._gathering.evidence(session, purpose)

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

    def _record(
        self,
        session: str,
        call: ToolCall,
        arguments: Mapping[str, Any],
        judged: CallJudgement,
        run: str,
        evidence: SessionEvidence,
    ) -> TicketRecord:
        now = self._clock()
        values = _telling(call.leaves)
        matched = dict(_matched(self._gathering.indexes(), values))
        return TicketRecord(
            id=new_id("tkt"),
            session=session,
            action=call.name,
            call=self._digest(call.name, arguments),
            arguments=json.dumps(arguments, sort_keys=True, ensure_ascii=False),
            state=_STATES[judged.answer],
            code=judged.code,
            reasons=judged.reasons,
            run=run,
            at=now,
            expires_at=now + self._life,
            matched=tuple(sorted(matched)),
            matched_values={memory_id: tuple(sorted(held)) for memory_id, held in matched.items()},
            uses={one: tuple(sorted(used)) for one, used in judged.uses.items()},
            origins={fence.one_line(path): origin.value for path, origin in judged.origins.items()},
            sources=dict(self._writers(judged, evidence)),
            leaving=() if evidence.clean else _leaving(evidence, call.tool, call.leaves),
            values=tuple(sorted({value.flat for value in values})),
            was_clean=evidence.clean,
            has_effects=not call.tool.is_reading,
        )

    def _writers(self, judged: CallJudgement, evidence: SessionEvidence) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Who wrote the values that others gave, for the person who confirms."""
        for path, names in judged.sources.items():
            found = (self._writer(name, evidence) for name in names)
            if named := tuple(dict.fromkeys(fence.one_line(one) for one in found if one))[:_WRITERS_MOST]:
                yield fence.one_line(path), named

    def _writer(self, name: str, evidence: SessionEvidence) -> str:
        if (held := evidence.foreign.texts.get(name)) is not None:
            return held.origin
        memory = self._gathering.memory(name)
        return (memory.origin.principal or memory.origin.channel) if memory is not None else ""

    def _digest(self, name: str, arguments: Mapping[str, Any]) -> str:
        return self._ledger.digest("call", canonical_call(name, arguments).decode("ascii"))

    def _refusal(
        self, record: TicketRecord | None, call: str, session: str | None, number: int
    ) -> tuple[str, str] | None:
        """Why a ticket cannot be used for a call now."""
        if record is None:
            return "unknown_ticket", "There is no such ticket."
        if session is not None and record.session != session:
            return "ticket_of_another_session", "The ticket is another session's."
        if record.state != OPEN:
            waits = record.state == WAITING
            return ("ticket_unconfirmed", "The owner has not confirmed this call.") if waits else _over(record)
        if record.expires_at <= self._clock():
            return "ticket_expired", "The ticket has expired."
        if not hmac.compare_digest(record.call, call):
            return "ticket_for_another_call", "The ticket is for another call."
        return None if record.decided_by else self._overtaken(record, number)

    def _overtaken(self, record: TicketRecord, number: int) -> tuple[str, str] | None:
        """What held when the call was judged has to hold still; what a person confirmed holds by that."""
        if self._quiet.holds(record.id, number) and self._clock() - record.at <= _SAME_MOMENT:
            return None
        evidence = self.evidence(record.session, record.action)
        again = judge(evidence, record.action, json.loads(record.arguments))
        if again.answer is Answer.ALLOW:
            return None
        return "judged_otherwise", f"The call would not go through any more. {' '.join(again.reasons)}".strip()


def _over(record: TicketRecord) -> tuple[str, str]:
    return f"ticket_{record.state}", f"The ticket is {record.state}."


def _traced(judged: CallJudgement) -> Iterator[Traced]:
    for path, origin in judged.origins.items():
        yield Traced(fence.one_line(path), origin, judged.sources.get(path, ()))


def _telling(found: Sequence[ArgumentLeaf]) -> list[TextReading]:
    """The values of a call that name something, as they are compared."""
    telling = (leaf for leaf in found if leaf.role is not ArgumentRole.NEITHER)
    return [read(leaf.text) for leaf in telling if leaf.text.strip() and not isinstance(leaf.value, bool)]


def _leaving(evidence: SessionEvidence, tool: Tool, given: Sequence[ArgumentLeaf]) -> tuple[str, ...]:
    """Private values in a call that nothing the owner asked for calls for."""
    if tool.own and tool.is_reading:
        return ()
    open_scopes = reading_scopes(evidence)
    found: dict[str, None] = {}
    for leaf in given:
        for value, text in telling_values(leaf.text):
            spelt = text.flat[value.start : value.end]
            if is_private(evidence, read(spelt)) and not is_called_for(evidence, open_scopes, value, text):
                found[fence.one_line(spelt)] = None
    return tuple(found)[:_LEAVING_MOST]


def _matched(indexes: Sequence[StoredIndex], values: Sequence[TextReading]) -> Iterator[tuple[str, set[str]]]:
    """The memories whose values are in the call, whether they may act or not, each with those values."""
    found: dict[str, set[str]] = {}
    for value in values:
        for index in indexes:
            for held in index.holding(value):
                found.setdefault(held.id, set()).add(value.flat)
    yield from list(found.items())[:_MATCHED_MOST]
