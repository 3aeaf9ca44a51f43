"""The operations of sessions: what they take in, hold in working memory and are distilled into."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tests.promises.agreement import same
from tests.promises.record import Outcome, PromiseBroken, attempt
from tests.promises.side import KEEP, Side
from tests.promises.twins import Twins
from tests.promises.vocabulary import HONEST, POISON
from truekeep.types import Standing


@dataclass(frozen=True)
class Begin:
    """Declare a session."""

    session: str
    mediated: bool

    def run(self, twins: Twins) -> None:
        same(twins.both(lambda side: side.begin(self.session, mediated=self.mediated)), self)


@dataclass(frozen=True)
class Observe:
    """Report what a session took in; ``owner`` is the person it acts for."""

    session: str
    channel: str
    text: str
    principal: str | None = None
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        is_person = self.channel == "owner"
        via = twins.world.speaker(self.session) if is_person else self.channel
        fields = {"principal": self.principal} if self.principal is not None else {}
        same(twins.both(lambda side: side.observe(self.session, via, self.text, way=self.way, **fields)), self)
        if is_person:
            self._compare_own(twins)

    def _compare_own(self, twins: Twins) -> None:
        """The person's words may be held to be a copy only of what this very session had taken in before.

        Whoever gives only other values has not copied it. Whose value it is makes no difference, nor what else is said
        with it: "Acme's account is …" is read, and "Northwind's account is …" may be what a person makes of it.
        """
        plain, laden = (side.keep._sessions.observations(self.session)[-1] for side in twins.sides)
        if plain.own == laden.own:
            return
        read = {value for text in twins.laden.read[self.session] for value in _values(text)}
        if any(_values(part).isdisjoint(read) for part in laden.pasted):
            raise PromiseBroken(f"P2: hearsay made {laden.pasted} of {self.text!r} a paste")
        twins.echoed.add(self.session)


@dataclass(frozen=True)
class Return:
    """A tool's result comes back."""

    session: str
    text: str
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        same(twins.both(lambda side: side.took_result(self.session, self.text, way=self.way)), self)


@dataclass(frozen=True)
class Segment:
    """The host drops a session's context and starts a fresh one."""

    session: str
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        same(twins.both(lambda side: side.start_afresh(self.session, way=self.way)), self)


@dataclass(frozen=True)
class Jot:
    """Put something into a session's working memory; what a system or a page leaves there, the session took in."""

    session: str
    channel: str
    text: str
    days: int | None = None

    def run(self, twins: Twins) -> None:
        via = twins.world.speaker(self.session) if self.channel == "owner" else self.channel
        plain, laden = twins.both(lambda side: self.on(side, via))
        # Who may not change a session's data may not put something else over what came first: that costs a note in
        # working memory, where nothing acts.
        if laden.code != "session_not_own" or self.session not in twins.left:
            same((plain, laden), self)

    def on(self, side: Side, via: str) -> Outcome:
        ttl = None if self.days is None else timedelta(days=self.days)
        outcome = attempt(lambda: side.keep.working.put(self.session, via=via, data={"note": self.text}, ttl=ttl))
        most = side.most(self.text, via, self.session, None, (), None)
        if outcome.ok and most is Standing.HEARSAY:
            side.heard.add(self.session)
        return outcome


@dataclass(frozen=True)
class LetGo:
    """The host lets a session go with all that was said in it, or all sessions whose time is over."""

    session: str | None

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            if self.session is None:
                side.keep.working.sweep()
            else:
                twins.left.discard(self.session)
                with side.keep.session(self.session):
                    """The conversation is over."""
                side.keep.working.delete(self.session)
                side.said.pop(self.session, None)
                side.read.pop(self.session, None)


def _values(text: str) -> set[str]:
    """The values that a text gives; one without any is known by itself."""
    return {value for value in (*(fact.value for fact in (*HONEST, *POISON)), "300") if value in text} or {text}
