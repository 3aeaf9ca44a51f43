"""The search itself: random and guided sequences by turns, each on a fresh target, until something is spent."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence as Many

from truekeep.redteam.influence.arena import Progress, silent
from truekeep.redteam.search.breeding import Archive, Kept, by_chance, simplest
from truekeep.redteam.search.cost import Budget
from truekeep.redteam.search.result import GUIDED, METHODS, RANDOM, Found, Result
from truekeep.redteam.search.scene import Scene, scenes
from truekeep.redteam.search.sequence import Sequence
from truekeep.redteam.search.shrink import shrunk
from truekeep.redteam.search.trial import Ground, Trial, sound, tried

_SHRINKS = 6
"""How many breaks of one goal are made smaller; others are only counted."""

_GRACE = 30.0
"""Seconds of CPU past the limit in which a break that was found may still be made smaller."""


def search(
    target_factory: Ground,
    budget: Budget | None = None,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress = silent,
    *,
    listed: Many[Scene] | None = None,
    resume: Result | None = None,
) -> Result:
    """Look for the cheapest sequence of moves that breaks a defence, for so many seconds of CPU.

    With the same seed and without a limit of time, the same sequences are played. ``resume`` goes on from a result.
    """
    result = resume or Result(budget or Budget(), seed)
    hunt = _Hunt(target_factory, result, scenes() if listed is None else listed)
    hunt.run(seconds, progress)
    return result


class _Hunt:
    def __init__(self, ground: Ground, result: Result, listed: Many[Scene]) -> None:
        self._ground = ground
        self._result = result
        self._began = time.process_time()
        self._end = self._began
        self._before = result.seconds
        self._shrinks = dict.fromkeys(result.found, _SHRINKS)
        self._played: set[str] = set()
        self._scenes = self._sound(listed)
        self._archive = Archive(seen=set(result.answers))
        for one in result.archive:
            sequence = self._here(Sequence.from_dict(one))
            if sequence is not None:
                self._archive.kept.append(Kept(sequence, one["nearness"], one["used"]))
        self._first = [] if result.played[GUIDED] else list(simplest(self._scenes))[::-1]

    def run(self, seconds: float, progress: Progress) -> None:
        budget = self._result.budget
        self._end = self._began + seconds
        while self._scenes and self._result.sequences < budget.sequences and not self._is_enough:
            if time.process_time() >= self._end:
                break
            self._turn(METHODS[self._result.sequences % len(METHODS)])
            progress("sequences searched", self._result.sequences, budget.sequences)
        self._write_down()

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
        trial = tried(self._ground, sequence)
        if method == GUIDED:
            self._archive.learn(sequence, trial)
        self._count(method, sequence, trial)
        for goal, got in trial.got.items():
            self._note(goal, Found(sequence, method, number, got))

    def _next(self, method: str, number: int, chance: random.Random) -> Sequence:
        """The next sequence that was not played yet; after a few draws, whichever comes."""
        if method == GUIDED and self._first:
            return self._first.pop()
        sequence = Sequence(self._scenes[0], ())
        for _ in range(10):
            if method == RANDOM or not self._archive.kept:
                scene = self._scenes[number % len(self._scenes)]
                sequence = by_chance(scene, self._result.budget, chance)
            else:
                sequence = self._archive.bred(self._result.budget, chance)
            name = json.dumps(sequence.as_dict())
            if sequence.moves and name not in self._played:
                self._played.add(name)
                break
        return sequence

    def _count(self, method: str, sequence: Sequence, trial: Trial) -> None:
        result = self._result
        result.played[method] += 1
        result.broke[method] += bool(trial.got)
        for goal in trial.got:
            result.hits[method][goal] += 1
        result.lacking |= trial.lacking
        records, principals = result.most
        result.most = max(records, sequence.cost.records), max(principals, sequence.cost.principals)
        result.seconds = self._before + time.process_time() - self._began

    def _note(self, goal: str, found: Found) -> None:
        """Keep a break if it is, or can be made, the cheapest of its goal."""
        best = self._result.found.get(goal)
        shrinks = self._shrinks.get(goal, 0)
        if shrinks >= _SHRINKS and best is not None and found.sequence.effort >= best.sequence.effort:
            return
        self._shrinks[goal] = shrinks + 1
        small = shrunk(found.sequence, lambda sequence: not self._is_over and goal in tried(self._ground, sequence).got)
        got = tried(self._ground, small).got.get(goal, found.got)
        if best is None or small.effort < best.sequence.effort:
            self._result.found[goal] = Found(small, found.method, found.number, got)

    def _sound(self, listed: Many[Scene]) -> list[Scene]:
        left = []
        for scene in listed:
            usable, lost = sound(self._ground, scene)
            if usable is not None:
                left.append(usable)
            if lost and lost not in self._result.left_out:
                self._result.left_out.append(lost)
        return left

    def _here(self, sequence: Sequence) -> Sequence | None:
        """A sequence of an earlier search, in the scene as it is usable here."""
        for scene in self._scenes:
            if scene.name == sequence.scene.name:
                return Sequence(scene, sequence.moves)
        return None

    def _write_down(self) -> None:
        kept = self._archive.kept
        self._result.archive = [{**one.sequence.as_dict(), "nearness": one.nearness, "used": one.used} for one in kept]
        self._result.answers = sorted(self._archive.seen)
