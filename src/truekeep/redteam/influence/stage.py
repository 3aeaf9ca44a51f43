"""The stage an attack is played on: one target, a clock, and the names by which steps know what others made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from truekeep.redteam.influence.target import Answered, Came, Refused, Target, UnsoundAttack, Unsupported, Written

STEPS: dict[str, type[Step]] = {}
"""Every kind of step, by the word that stands for it in an attack's file."""


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

    @abstractmethod
    def play(self, stage: Stage) -> None:
        """Do it."""


def step(word: str) -> Callable[[type[Step]], type[Step]]:
    """Register a kind of step under the word that stands for it in the files."""

    def register(kind: type[Step]) -> type[Step]:
        STEPS[word] = kind
        return kind

    return register


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
