"""Steps of a conversation: begin a session, take something in, be shown something, distil it, let time pass."""

from __future__ import annotations

from dataclasses import dataclass

from truekeep.redteam.influence.stage import Stage, Step, step


@step("session")
@dataclass(frozen=True, kw_only=True)
class Begin(Step):
    """Declare a session."""

    name: str
    mediated: bool = False
    member: str | None = None

    def play(self, stage: Stage) -> None:
        """As the host does."""
        stage.target.begin(self.name, mediated=self.mediated, member=self.member)


@step("observe")
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


@step("recall")
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


@step("list")
@dataclass(frozen=True, kw_only=True)
class ListAll(Step):
    """The agent lists what was remembered last."""

    session: str

    def play(self, stage: Stage) -> None:
        """Whatever it is shown, it has seen."""
        stage.target.listed(self.session)


@step("snapshot")
@dataclass(frozen=True, kw_only=True)
class Look(Step):
    """The agent's prompt gets the snapshot."""

    session: str
    refresh: bool = False

    def play(self, stage: Stage) -> None:
        """Whatever it is shown, it has seen."""
        stage.target.snapshot(self.session, refresh=self.refresh)


@step("extract")
@dataclass(frozen=True, kw_only=True)
class Extract(Step):
    """The session is distilled into memories."""

    session: str
    strategy: str = "discrete"

    def play(self, stage: Stage) -> None:
        """By the agent."""
        stage.noted(stage.target.extract(self.session, self.strategy))


@step("wait")
@dataclass(frozen=True, kw_only=True)
class Wait(Step):
    """Time passes."""

    days: float = 0
    hours: float = 0
    minutes: float = 0

    def play(self, stage: Stage) -> None:
        """Move the clock."""
        stage.clock.wait(days=self.days, hours=self.hours, minutes=self.minutes)
