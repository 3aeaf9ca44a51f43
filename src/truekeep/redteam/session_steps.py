"""Steps at the act boundary and of the people behind it: calls, tickets, credit, review, enrolment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from truekeep.redteam.influence.stage import CheckedCall, Stage, Step, step
from truekeep.redteam.influence.target import Limits, Refused

_AGENT = "agent"


@step("check_action")
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


@step("confirm")
@dataclass(frozen=True, kw_only=True)
class Confirm(Step):
    """Somebody confirms a call that waits."""

    via: str
    call: str = "call"
    session: str | None = None

    def play(self, stage: Stage) -> None:
        """Whoever holds the channel."""
        stage.target.confirm(self.via, self.session, _ticket(stage, self.call))


@step("redeem")
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


@step("act")
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


@step("credit")
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


@step("enrol")
@dataclass(frozen=True, kw_only=True)
class Enrol(Step):
    """The operator enrols a system or a member."""

    channel: str

    def play(self, stage: Stage) -> None:
        """As the operator does."""
        stage.target.enrol(self.channel)


@step("approve")
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


@step("reject")
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
