"""What hearsay attempts at the act boundary and over handles, and what people do about it; on the laden side alone."""

from __future__ import annotations

from dataclasses import dataclass

from tests.promises.acting import use
from tests.promises.deciding import turn_down
from tests.promises.record import PromiseBroken, attempt
from tests.promises.twins import Twins
from tests.promises.vocabulary import Call


@dataclass(frozen=True)
class Overstep:
    """Try what a handle of that channel must not be able to do with the calls and runs of the shared life."""

    which: int
    channel: str

    def run(self, twins: Twins) -> None:
        side = twins.laden
        if not twins.tickets:
            return
        ticket = twins.tickets[self.which % len(twins.tickets)]
        given = str(ticket.laden.ticket)
        known = list(side.memories()) or ["mem_none"]
        for name, attempted in (
            ("restore", lambda: side.keep.restore(known[self.which % len(known)], via=self.channel)),
            ("confirm", lambda: side.keep.bind(self.channel).confirm(given)),
            ("credit", lambda: side.keep.credit(ticket.run, "good", via=self.channel)),
        ):
            if attempt(attempted).ok:
                raise PromiseBroken(f"P1: the channel {self.channel} may {name}")
        other = Call(ticket.call.name, (*ticket.call.values, ("memo", "6666-66")))
        for call in (other, *((ticket.call,) if ticket.is_spent else ())):
            if use(side, ticket.laden, call).ok:
                raise PromiseBroken(f"P1: a ticket for {ticket.call} was redeemed for {call}")


@dataclass(frozen=True)
class Wonder:
    """The agent asks about a call and goes no further."""

    session: str
    call: Call

    def run(self, twins: Twins) -> None:
        twins.laden.keep.check_action(self.session, self.call.name, self.call.arguments)


@dataclass(frozen=True)
class TurnDown:
    """A reviewer turns an item of the extra hearsay down; that leaves a tombstone for hearsay only."""

    which: int

    def run(self, twins: Twins) -> None:
        # A question that hearsay raised is about a system's memory once that system says the same.
        shared = {pair.laden for pair in twins.known}
        about = {item.id: item.memory.id for item in twins.laden.keep.review.list(None)}
        if extra := [item for item in twins.extra_items if about.get(item) not in shared]:
            turn_down(twins.laden, extra[self.which % len(extra)])


@dataclass(frozen=True)
class WipeOut:
    """A person erases something of the extra hearsay, or what is held of it, for good."""

    which: int

    def run(self, twins: Twins) -> None:
        side = twins.laden
        extra = [one for one in side.memories() if one in side.written and side.written[one].is_extra]
        if known := [*extra, *twins.extra_items]:
            side.erase([known[self.which % len(known)]], None)
