"""What is attacked, and the stage that attacks are played on: a target, a clock, and what the steps made so far.

Attacks and measures know a memory only as a ``Target``, with ways in, ways out and, if it has one, a boundary for tool
calls. A keep is one target; another store becomes one by overriding what it can do. What it leaves out raises
``Unsupported``, which is reported beside the result and never counted as a defence.
"""

# ruff: noqa: ARG002 - a target that lacks an operation has no use for its arguments
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

Fields = Mapping[str, Any]
"""What a write says about itself: principal, session, kind, topics, metadata and whatever else a caller tries."""


class Refused(Exception):
    """The target turned a step down, with a code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Unsupported(Exception):
    """The target has no such operation."""


class UnsoundAttack(Exception):
    """The attack could not be played as it is meant, so whatever it measures means nothing."""


class Came(StrEnum):
    """What came of a write."""

    STORED = "stored"
    HELD = "held"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Written:
    """The answer to one write."""

    came: Came
    code: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class TargetHit:
    """A memory as the target shows it."""

    text: str
    may_act: bool
    why: str = ""
    """What the target says about that, if it does."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a tool call: a ticket if there is one, and whether a person has to confirm it first."""

    code: str
    ticket: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How far an approval goes."""

    inform_only: bool = False
    purpose: str | None = None
    until_days: float | None = None


class Target:
    """Override what the target can do. Whoever is named by ``via`` holds that channel and nothing else."""

    credits_per_hour = 0
    """After how many reports of outcomes an hour has to pass; 0 if there is no such limit."""

    def remember(
        self, via: str, session: str | None, entries: Sequence[Mapping[str, Any]], fields: Fields
    ) -> list[Written]:
        """Write texts; each entry has its text and perhaps fields of its own."""
        raise Unsupported("remember")

    def update(self, via: str, session: str | None, memory: str, text: str, fields: Fields) -> Written:
        """Offer new content for a memory."""
        raise Unsupported("update")

    def delete(self, via: str, memory: str) -> Written:
        """Delete a memory."""
        raise Unsupported("delete")

    def restore(self, via: str, memory: str, version: int | None) -> Written:
        """Bring an earlier version of a memory back."""
        raise Unsupported("restore")

    def import_file(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Import a file of JSON lines as people do."""
        raise Unsupported("import")

    def consolidate(self) -> None:
        """Merge what is remembered more than once."""
        raise Unsupported("consolidate")

    def begin(self, session: str, *, mediated: bool, member: str | None) -> None:
        """Declare a session."""
        raise Unsupported("session")

    def observe(self, via: str, session: str, text: str, principal: str | None, role: str | None) -> None:
        """A session takes a text in."""
        raise Unsupported("observe")

    def extract(self, session: str, strategy: str) -> list[Written]:
        """Distil a session into memories."""
        raise Unsupported("extract")

    def recall(self, query: str, k: int, *, influence_only: bool, session: str | None = None) -> list[TargetHit]:
        """The agent, or without a session the measure, asks for memories."""
        raise Unsupported("recall")

    def listed(self, session: str | None = None) -> list[TargetHit]:
        """What was stored since the attack began, in order."""
        raise Unsupported("list")

    def snapshot(self, session: str, *, refresh: bool) -> None:
        """The agent's prompt gets the text of a session's memories."""
        raise Unsupported("snapshot")

    def check(self, session: str, action: str, arguments: Mapping[str, Any], run: str | None) -> Answered:
        """The agent asks whether it may make a call."""
        raise Unsupported("check_action")

    def confirm(self, via: str, session: str | None, ticket: str) -> None:
        """Somebody confirms a call that waits."""
        raise Unsupported("confirm")

    def redeem(self, via: str, ticket: str, action: str, arguments: Mapping[str, Any]) -> None:
        """Somebody makes a call with a ticket."""
        raise Unsupported("redeem")

    def credit(self, via: str, run: str, outcome: str) -> None:
        """Somebody says how a run ended."""
        raise Unsupported("credit")

    def enrol(self, channel: str) -> None:
        """The operator lets a system or a member write over a channel of its own."""
        raise Unsupported("enrol")

    def neighbour(self) -> Target:
        """Another memory in the same place, which belongs to somebody else."""
        raise Unsupported("neighbour")

    def edit_at_rest(self, memory: str, changes: Mapping[str, Any]) -> None:
        """Somebody who holds the file changes what is stored of a memory; then the target is opened again.

        The changes go by the names of the stored members, with dots between the names of nested ones.
        """
        raise Unsupported("edit_at_rest")

    def waiting(self, containing: str) -> list[str]:
        """The items that wait for a person and have these words in them."""
        raise Unsupported("review")

    def approve(self, item: str, by: str, limits: Limits) -> Written:
        """A reviewer lets an item in."""
        raise Unsupported("approve")

    def reject(self, item: str, by: str) -> None:
        """A reviewer turns an item down."""
        raise Unsupported("reject")


class Clock:
    """A clock that moves only when a step says so."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The moment it stands at."""
        return self.now

    def wait(self, **span: float) -> None:
        """Move on."""
        self.now += timedelta(**span)


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call that was put to the act boundary."""

    action: str
    arguments: dict[str, object]


@dataclass(slots=True)
class Stage:
    """What the steps of one attack share."""

    target: Target
    clock: Clock = field(default_factory=Clock)
    ids: dict[str, str] = field(default_factory=dict)
    """Memories, by what their step called them."""
    answers: dict[str, tuple[Answered, CheckedCall]] = field(default_factory=dict)
    """Answers of the act boundary, by what their step called them, with the call they are for."""
    refusals: list[str] = field(default_factory=list)
    """What the target turned down, as codes."""
    held: list[str] = field(default_factory=list)
    """What waits for a person, as codes."""
    lacking: list[str] = field(default_factory=list)
    """What the target cannot do at all."""
    broken: list[str] = field(default_factory=list)
    """What went through although it must never."""
    heard: list[Answered] = field(default_factory=list)
    """What the act boundary answered to the calls of the measure itself."""
    sessions: int = 0
    """How many sessions the measure itself has begun."""

    @property
    def turned_down(self) -> int:
        """How often the target did not do what a step wanted."""
        return len(self.refusals) + len(self.held) + len(self.lacking)

    def noted(self, answers: Iterable[Written], called: str = "") -> None:
        """Keep what a write led to."""
        for answer in answers:
            if answer.came is not Came.STORED:
                (self.refusals if answer.came is Came.REFUSED else self.held).append(answer.code)
            if called and answer.id:
                self.ids[called] = answer.id

    def id_of(self, called: str) -> str:
        """The memory that a step called so; one that never came to be has no id."""
        return self.ids.get(called, "mem_that_was_never_stored")

    def tries(self, attempt: Callable[[], object]) -> bool:
        """Do something that may be turned down; whether it was done."""
        try:
            attempt()
        except Refused as refusal:
            self.refusals.append(refusal.code)
        except Unsupported as missing:
            self.lacking.append(str(missing))
        else:
            return True
        return False


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """One public operation of an attack. What the target refuses is noted, and the attacker goes on."""

    forbidden: bool = False
    """Whether the attack has won if this goes through."""

    @property
    def stakes(self) -> int:
        """How many things in it must never go through."""
        return int(self.forbidden)

    @property
    def voices(self) -> tuple[str, ...]:
        """Under whose name each of its texts is brought in, as far as they are the attacker's."""
        return ()

    @property
    def used_session(self) -> str:
        """The session of the agent that it needs."""
        return getattr(self, "session", None) or ""

    @abstractmethod
    def play(self, stage: Stage) -> None:
        """Do it."""


def play(stage: Stage, steps: Iterable[Step]) -> None:
    """Play an attacker's steps. A refusal is an answer; only a step that must never go through can win by itself."""
    for one in steps:
        before = stage.turned_down
        stage.tries(partial(one.play, stage))
        if one.forbidden and stage.turned_down == before:
            stage.broken.append(f"{type(one).__name__} went through")


def prepare(stage: Stage, steps: Iterable[Step]) -> None:
    """Play what honestly happened before. Here nothing may be refused, or the attack has no ground to stand on."""
    for one in steps:
        stage.tries(partial(one.play, stage))
        if stage.refusals or stage.lacking:
            codes = ", ".join((*stage.refusals, *stage.lacking))
            raise UnsoundAttack(f"{type(one).__name__} in the setup was refused: {codes}")
