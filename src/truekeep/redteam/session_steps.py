"""Steps of conversations, of the act boundary with the people behind it, and of those who have no business here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from truekeep.redteam.stage import CheckedCall, Limits, Refused, Stage, Step, play

ATTACKED = ("user", "member:adam")
"""The channels of those who are attacked: the owner and, in a shared keep, one of its members."""
_AGENT = "agent"


@dataclass(frozen=True, kw_only=True)
class Begin(Step):
    """Declare a session."""

    name: str
    mediated: bool = False
    member: str | None = None

    def play(self, stage: Stage) -> None:
        """As the host does."""
        stage.target.begin(self.name, mediated=self.mediated, member=self.member)

    @property
    def used_session(self) -> str:
        """The one it begins."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class Observe(Step):
    """A session takes something in."""

    session: str
    via: str
    text: str
    principal: str | None = None
    role: str | None = None

    def play(self, stage: Stage) -> None:
        """Whoever holds the channel; a role is whatever the sender wrote."""
        stage.target.observe(self.via, self.session, self.text, self.principal, self.role)

    @property
    def voices(self) -> tuple[str, ...]:
        """What those say who are attacked is not the attacker's."""
        return () if self.via in ATTACKED else (self.principal or self.via,)


@dataclass(frozen=True, kw_only=True)
class Ask(Step):
    """The agent recalls."""

    session: str
    query: str
    influence_only: bool = False
    k: int = 5

    def play(self, stage: Stage) -> None:
        """Whatever it is shown, it has seen."""
        stage.target.recall(self.query, self.k, influence_only=self.influence_only, session=self.session)


@dataclass(frozen=True, kw_only=True)
class ListAll(Step):
    """The agent lists what was remembered last."""

    session: str

    def play(self, stage: Stage) -> None:
        """Whatever it is shown, it has seen."""
        stage.target.listed(self.session)


@dataclass(frozen=True, kw_only=True)
class Look(Step):
    """The agent's prompt gets the snapshot."""

    session: str
    refresh: bool = False

    def play(self, stage: Stage) -> None:
        """Whatever it is shown, it has seen."""
        stage.target.snapshot(self.session, refresh=self.refresh)


@dataclass(frozen=True, kw_only=True)
class Extract(Step):
    """The session is distilled into memories."""

    session: str
    strategy: str = "discrete"

    def play(self, stage: Stage) -> None:
        """By the agent."""
        stage.noted(stage.target.extract(self.session, self.strategy))


@dataclass(frozen=True, kw_only=True)
class Wait(Step):
    """Time passes."""

    days: float = 0
    hours: float = 0
    minutes: float = 0

    def play(self, stage: Stage) -> None:
        """Move the clock."""
        stage.clock.wait(days=self.days, hours=self.hours, minutes=self.minutes)


@dataclass(frozen=True, kw_only=True)
class Check(Step):
    """The agent puts a call to the act boundary."""

    session: str
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    run: str | None = None
    called: str = "call"

    def play(self, stage: Stage) -> None:
        """And keeps the answer."""
        call = CheckedCall(self.action, dict(self.arguments))
        stage.answers[self.called] = stage.target.check(self.session, call.action, call.arguments, self.run), call


@dataclass(frozen=True, kw_only=True)
class Confirm(Step):
    """Somebody confirms a call that waits."""

    via: str
    call: str = "call"
    session: str | None = None

    def play(self, stage: Stage) -> None:
        """Whoever holds the channel."""
        stage.target.confirm(self.via, self.session, _ticket(stage, self.call))


@dataclass(frozen=True, kw_only=True)
class Redeem(Step):
    """Use a ticket up, perhaps for another call than it was given for."""

    call: str = "call"
    via: str = "agent"
    action: str | None = None
    arguments: Mapping[str, Any] | None = None
    """Laid over the arguments of the call."""

    def play(self, stage: Stage) -> None:
        """Whoever holds the channel."""
        ticket = _ticket(stage, self.call)
        _, checked = stage.answers[self.call]
        arguments = checked.arguments | dict(self.arguments or {})
        stage.target.redeem(self.via, ticket, self.action or checked.action, arguments)


@dataclass(frozen=True, kw_only=True)
class Act(Step):
    """The agent makes a call as often as it can, each time in a run of its own; what waits is not done."""

    session: str
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    run: str = "run"
    times: int = 1

    def play(self, stage: Stage) -> None:
        """Without anybody's help."""
        for number in range(self.times):
            answer = stage.target.check(self.session, self.action, self.arguments, f"{self.run}-{number}")
            if answer.ticket is None:
                stage.refusals.append(answer.code)
                continue
            stage.tries(partial(stage.target.redeem, _AGENT, answer.ticket, self.action, self.arguments))


@dataclass(frozen=True, kw_only=True)
class Credit(Step):
    """Somebody says how runs ended."""

    run: str
    outcome: str
    via: str = "outcomes"
    times: int = 1
    """How many runs of ``act``; without it the run is named as it stands."""
    numbered: bool = False

    def play(self, stage: Stage) -> None:
        """Run by run, over the channel; past the hourly limit it is tried again in the next hour."""
        for number in range(self.times):
            run = f"{self.run}-{number}" if self.numbered else self.run
            if number and stage.target.credits_per_hour and number % stage.target.credits_per_hour == 0:
                stage.clock.wait(hours=1)
            stage.tries(partial(stage.target.credit, self.via, run, self.outcome))


@dataclass(frozen=True, kw_only=True)
class Enrol(Step):
    """The operator enrols a system or a member."""

    channel: str

    def play(self, stage: Stage) -> None:
        """As the operator does."""
        stage.target.enrol(self.channel)


@dataclass(frozen=True, kw_only=True)
class Approve(Step):
    """A reviewer lets in what waits and has these words in it."""

    containing: str
    by: str = "reviewer"
    inform_only: bool = False
    purpose: str | None = None
    until_days: float | None = None
    called: str = ""

    def play(self, stage: Stage) -> None:
        """Every such item."""
        limits = Limits(self.inform_only, self.purpose, self.until_days)
        for item in _waiting(stage, self.containing):
            stage.noted([stage.target.approve(item, self.by, limits)], self.called)


@dataclass(frozen=True, kw_only=True)
class Reject(Step):
    """A reviewer turns down what waits and has these words in it."""

    containing: str
    by: str = "reviewer"

    def play(self, stage: Stage) -> None:
        """Every such item."""
        for item in _waiting(stage, self.containing):
            stage.target.reject(item, self.by)


def _waiting(stage: Stage, containing: str) -> list[str]:
    items = stage.target.waiting(containing)
    if not items:
        raise Refused("nothing_waits")
    return items


def _ticket(stage: Stage, call: str) -> str:
    if call not in stage.answers:
        raise Refused("no_such_call")
    answer, _ = stage.answers[call]
    return answer.ticket or "tkt_that_was_never_given"


@dataclass(frozen=True, kw_only=True)
class Elsewhere(Step):
    """Steps in the memory next door, with the names, tickets and sessions that are known of this one."""

    do: tuple[Step, ...]

    @property
    def stakes(self) -> int:
        """Those of its steps."""
        return sum(one.stakes for one in self.do)

    def play(self, stage: Stage) -> None:
        """By its owner, who may do everything there."""
        here = stage.target
        stage.target = here.neighbour()
        try:
            play(stage, self.do)
        finally:
            stage.target = here


@dataclass(frozen=True, kw_only=True)
class Find(Step):
    """Look for words in what is remembered; not finding them is a refusal."""

    query: str
    containing: str
    acting: bool = False
    """Whether only what may act counts."""
    k: int = 20

    def play(self, stage: Stage) -> None:
        """By every question that whoever is there can ask."""
        hits = stage.target.recall(self.query, self.k, influence_only=False)
        hits += stage.target.recall(self.query, self.k, influence_only=True)
        if not any(self.containing in hit.text and (hit.may_act or not self.acting) for hit in hits):
            raise Refused("not_found")


@dataclass(frozen=True, kw_only=True)
class EditAtRest(Step):
    """Change a stored record behind the memory's back, and open it again."""

    of: str
    changes: Mapping[str, Any]

    def play(self, stage: Stage) -> None:
        """By somebody who has the file and can read it, but not the keys that seal it."""
        stage.target.edit_at_rest(stage.id_of(self.of), self.changes)
