"""The search itself: random and guided sequences by turns, each on a fresh target, until something is spent."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from truekeep.redteam.figures import US, Progress, ResultRow, silent, wilson
from truekeep.redteam.playing import AttackOutcome, Before, Eyes, goes_through, look_after
from truekeep.redteam.sequences import Archive, Budget, Move, MoveSequence, Repertoire
from truekeep.redteam.stage import Refused, Stage, TargetHit, UnsoundAttack, Unsupported, play, prepare

if TYPE_CHECKING:
    from truekeep.redteam.attack import Scene

RANDOM, GUIDED = "random", "guided"
METHODS = (RANDOM, GUIDED)
Fresh = Callable[[], AbstractContextManager[Stage]]
"""Gives a fresh target each time; a keep's ``stage`` is one."""
GOALS = ("acting", "allowed", "displaced", "blocked")
"""A poison may act, its call went through, a truth is gone, an honest call is blocked."""
_ID = re.compile(r"mem_\w+(?:, mem_\w+)*")
_SHRINKS = 6
"""How many breaks of one goal are made smaller; others are only counted."""
_GRACE = 30.0
"""Seconds of CPU past the limit in which a break that was found may still be made smaller."""


@dataclass(frozen=True, slots=True)
class FoundBreak:
    """A sequence that broke the defence, made as small as it gets."""

    sequence: MoveSequence
    method: str
    number: int
    """Which sequence of the search it was made from."""
    got: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The find as JSON members."""
        cost = self.sequence.cost._asdict()
        members = {"method": self.method, "number": self.number, "got": list(self.got), "cost": cost}
        return {**self.sequence.as_dict(), **members}


@dataclass(slots=True)
class SearchResult:
    """What was tried and found."""

    budget: Budget
    seed: int
    played: dict[str, int] = field(default_factory=lambda: dict.fromkeys(METHODS, 0))
    """How many sequences each method played."""
    hits: dict[str, dict[str, int]] = field(default_factory=lambda: {one: dict.fromkeys(GOALS, 0) for one in METHODS})
    """How many of them reached each goal."""
    broke: dict[str, int] = field(default_factory=lambda: dict.fromkeys(METHODS, 0))
    """How many reached any."""
    found: dict[str, FoundBreak] = field(default_factory=dict)
    """By goal, the cheapest."""
    left_out: list[str] = field(default_factory=list)
    """Scenes, or parts of them, that could not be attacked, with the reason."""
    lacking: set[str] = field(default_factory=set)
    """Operations that the target does not have, so that they prove nothing."""
    most: tuple[int, int] = (0, 0)
    """The most records and principals that one played sequence spent."""
    seconds: float = 0.0
    answers: list[str] = field(default_factory=list)
    """Every different answer that was seen of the target."""

    @property
    def sequences(self) -> int:
        """How many sequences were played."""
        return sum(self.played.values())

    @property
    def cheapest(self) -> FoundBreak | None:
        """The cheapest break of all."""
        return min(self.found.values(), key=lambda one: one.sequence.effort, default=None)

    @property
    def upper(self) -> float:
        """The upper bound of the share of sequences that break it, at 95 %."""
        return wilson(sum(self.broke.values()), self.sequences)[1]

    def __str__(self) -> str:
        best = self.cheapest
        if best is None:
            return f"none within {self.sequences:,} sequences (upper bound {100 * self.upper:.2f} %)"
        return f"broken with {best.sequence.cost}"


def rows_of_search(
    result: SearchResult, *, defence: str = US, encoder: str = "", size: int = 0, note: str = ""
) -> list[ResultRow]:
    """A row for each method and goal, and one for each method with any of them."""
    made = []
    for method in METHODS:
        counted = {**result.hits[method], "broken": result.broke[method]}
        for metric, hits in counted.items():
            best = result.cheapest if metric == "broken" else result.found.get(metric)
            made.append(
                ResultRow(
                    part="search",
                    metric=metric,
                    hits=hits,
                    total=result.played[method],
                    defence=defence,
                    encoder=encoder,
                    size=size,
                    attack=method,
                    note=note,
                    detail=_detail(result, best),
                )
            )
    return made


def _detail(result: SearchResult, best: FoundBreak | None) -> dict[str, Any]:
    records, principals = result.most
    return {
        "found": str(result) if best is None else str(best.sequence.cost),
        "cheapest": best.as_dict() if best else None,
        "budget": result.budget.as_dict(),
        "most_spent": {"records": records, "principals": principals},
        "seconds": round(result.seconds, 1),
        "left_out": list(result.left_out),
        "lacking": sorted(result.lacking),
    }


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one sequence."""

    got: Mapping[str, tuple[str, ...]]
    """By goal, what was reached."""
    seen: frozenset[str]
    """How the target answered: its codes and reasons, and where the planted text came up."""
    nearness: int
    lacking: frozenset[str]
    """Operations that the target does not have."""


def tried(fresh: Fresh, sequence: MoveSequence) -> Trial:
    """Play a sequence and look. What time alone does to a keep is not the attacker's doing."""
    trial = _tried(fresh, sequence)
    if trial.got and sequence.waits.moves:
        alone = _tried(fresh, sequence.waits).got
        left = {goal: tuple(what for what in got if what not in alone.get(goal, ())) for goal, got in trial.got.items()}
        return replace(trial, got={goal: got for goal, got in left.items() if got})
    return trial


def sound(fresh: Fresh, scene: Scene) -> tuple[Scene | None, str]:
    """The scene with whatever of it holds before any attack, and what does not; no scene if it cannot be set up."""
    with fresh() as stage:
        try:
            prepare(stage, scene.attack.setup)
            eyes = Eyes(stage, scene.attack)
            truths = tuple(truth for truth in scene.attack.truth if eyes.holds(truth))
        except (UnsoundAttack, Unsupported, Refused) as reason:
            return None, f"{scene.name}: {reason}"
    with fresh() as stage:
        prepare(stage, scene.attack.setup)
        honest = tuple(call for call in scene.attack.honest if goes_through(stage, call, "before"))
    lost = [f"{scene.name}: the truth does not act before any attack"] * (truths != scene.attack.truth)
    if honest != scene.attack.honest:
        lost.append(f"{scene.name}: the honest call does not go through before any attack")
    return replace(scene, attack=replace(scene.attack, truth=truths, honest=honest)), "; ".join(lost)


def _tried(fresh: Fresh, sequence: MoveSequence) -> Trial:
    attack = replace(sequence.scene.attack, attack=sequence.steps)
    with fresh() as stage:
        prepare(stage, attack.setup)
        play(stage, attack.attack)
        turned_down = [f"turned down: {code}" for code in (*stage.refusals, *stage.held)]
        outcome = look_after(attack, stage, Before(attack.truth, attack.honest), 0)
        hits = Eyes(stage, attack).asked(sequence.scene.query)
    answers = stage.heard[: len(attack.attempts)]
    seen = frozenset((*turned_down, *(f"answered: {one.code}" for one in answers), *_shown(sequence.scene, hits)))
    waits = sum(one.ticket is not None for one in answers)
    return Trial(_got(outcome), seen, _nearness(sequence.scene, outcome, hits) + 2 * waits, frozenset(stage.lacking))


def _got(outcome: AttackOutcome) -> dict[str, tuple[str, ...]]:
    got = {goal: getattr(outcome, goal) for goal in GOALS}
    return {goal: what for goal, what in got.items() if what}


def _shown(scene: Scene, hits: list[TargetHit]) -> Iterator[str]:
    """Where the planted text and the truth come up, and what the target says about them."""
    truths = {truth.text for truth in scene.attack.truth}
    for place, hit in enumerate(hits):
        if scene.attack.is_poison(hit.text):
            yield f"the lie at {place}"
            yield f"the lie: {_ID.sub('another', hit.why)}"
        if hit.text in truths:
            yield f"the truth at {place}"
            yield f"the truth: {_ID.sub('another', hit.why)}"


def _nearness(scene: Scene, outcome: AttackOutcome, hits: list[TargetHit]) -> int:
    """Stored, shown, shown first, shown before the truth, the truth not shown: one each."""
    truths = {truth.text for truth in scene.attack.truth}
    lies = [place for place, hit in enumerate(hits) if scene.attack.is_poison(hit.text)]
    true = [place for place, hit in enumerate(hits) if hit.text in truths]
    first = bool(lies) and (lies[0] == 0) + bool(true and lies[0] < true[0])
    return bool(outcome.planted) + bool(lies) + first + bool(truths and not true)


def search(
    fresh: Fresh,
    moves: Sequence[type[Move]],
    listed: Sequence[Scene],
    budget: Budget | None = None,
    seconds: float = 60.0,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> SearchResult:
    """Look for the cheapest sequence of moves that breaks a defence in one of the scenes, for so many seconds of CPU.

    With the same seed and without a limit of time, the same sequences are played.
    """
    result = SearchResult(budget or Budget(), seed)
    _Hunt(fresh, Repertoire(moves), listed, result).run(seconds, progress)
    return result


class _Hunt:
    def __init__(self, fresh: Fresh, repertoire: Repertoire, listed: Sequence[Scene], result: SearchResult) -> None:
        self._fresh = fresh
        self._repertoire = repertoire
        self._result = result
        self._began = time.process_time()
        self._end = self._began
        self._shrinks: Counter[str] = Counter()
        self._played: set[str] = set()
        self._scenes = self._sound(listed)
        self._archive = Archive()
        self._first = list(repertoire.simplest(self._scenes))[::-1]

    def run(self, seconds: float, progress: Progress) -> None:
        budget = self._result.budget
        self._end = self._began + seconds
        while self._scenes and self._result.sequences < budget.sequences and not self._is_enough:
            if time.process_time() >= self._end:
                break
            self._turn(METHODS[self._result.sequences % len(METHODS)])
            progress("sequences searched", self._result.sequences, budget.sequences)
        self._result.answers = sorted(self._archive.seen)

    @property
    def _is_enough(self) -> bool:
        return sum(self._result.broke.values()) >= self._result.budget.enough

    @property
    def _is_over(self) -> bool:
        """Past the time, and past the grace in which what was found is still made smaller."""
        return time.process_time() >= self._end + _GRACE

    def _turn(self, method: str) -> None:
        number = self._result.played[method]
        chance = random.Random(f"{self._result.seed}:{method}:{number}")  # noqa: S311 - the same one every time
        sequence = self._next(method, number, chance)
        trial = tried(self._fresh, sequence)
        if method == GUIDED:
            self._archive.learn(sequence, trial.seen, trial.nearness)
        self._count(method, sequence, trial)
        for goal, got in trial.got.items():
            self._note(goal, FoundBreak(sequence, method, number, got))

    def _next(self, method: str, number: int, chance: random.Random) -> MoveSequence:
        """The next sequence that was not played yet; after a few draws, whichever comes."""
        if method == GUIDED and self._first:
            return self._first.pop()
        sequence = MoveSequence(self._scenes[0], ())
        for _ in range(10):
            if method == RANDOM or not self._archive.kept:
                scene = self._scenes[number % len(self._scenes)]
                sequence = self._repertoire.by_chance(scene, self._result.budget, chance)
            else:
                sequence = self._repertoire.changed(*self._archive.pair(chance), self._result.budget, chance)
            name = json.dumps(sequence.as_dict())
            if sequence.moves and name not in self._played:
                self._played.add(name)
                break
        return sequence

    def _count(self, method: str, sequence: MoveSequence, trial: Trial) -> None:
        result = self._result
        result.played[method] += 1
        result.broke[method] += bool(trial.got)
        for goal in trial.got:
            result.hits[method][goal] += 1
        result.lacking |= trial.lacking
        records, principals = result.most
        result.most = max(records, sequence.cost.records), max(principals, sequence.cost.principals)
        result.seconds = time.process_time() - self._began

    def _note(self, goal: str, found: FoundBreak) -> None:
        """Keep a break if it is, or can be made, the cheapest of its goal."""
        best = self._result.found.get(goal)
        shrinks = self._shrinks[goal]
        if shrinks >= _SHRINKS and best is not None and found.sequence.effort >= best.sequence.effort:
            return
        self._shrinks[goal] = shrinks + 1
        small = self._repertoire.shrunk(
            found.sequence, lambda sequence: not self._is_over and goal in tried(self._fresh, sequence).got
        )
        got = tried(self._fresh, small).got.get(goal, found.got)
        if best is None or small.effort < best.sequence.effort:
            self._result.found[goal] = FoundBreak(small, found.method, found.number, got)

    def _sound(self, listed: Sequence[Scene]) -> list[Scene]:
        left = []
        for scene in listed:
            usable, lost = sound(self._fresh, scene)
            if usable is not None:
                left.append(usable)
            if lost and lost not in self._result.left_out:
                self._result.left_out.append(lost)
        return left
