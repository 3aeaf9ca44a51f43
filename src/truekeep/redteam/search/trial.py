"""One sequence played on a fresh target: what it got, and how near it came to what it did not get."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from truekeep.redteam.influence.measure import Before, Eyes, goes_through, look_after
from truekeep.redteam.influence.outcome import Outcome
from truekeep.redteam.influence.stage import Stage, play, prepare
from truekeep.redteam.influence.target import Hit, Refused, UnsoundAttack, Unsupported
from truekeep.redteam.search.scene import Scene
from truekeep.redteam.search.sequence import Sequence

Ground = Callable[[], AbstractContextManager[Stage]]
"""Gives a fresh target each time; an arena's ``stage`` is one."""
GOALS = ("acting", "allowed", "displaced", "blocked")
"""A poison may act, its call went through, a truth is gone, an honest call is blocked."""
_ID = re.compile(r"mem_\w+(?:, mem_\w+)*")


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


def tried(ground: Ground, sequence: Sequence) -> Trial:
    """Play a sequence and look. What time alone does to a keep is not the attacker's doing."""
    trial = _tried(ground, sequence)
    if trial.got and sequence.waits.moves:
        alone = _tried(ground, sequence.waits).got
        left = {goal: tuple(what for what in got if what not in alone.get(goal, ())) for goal, got in trial.got.items()}
        return replace(trial, got={goal: got for goal, got in left.items() if got})
    return trial


def sound(ground: Ground, scene: Scene) -> tuple[Scene | None, str]:
    """The scene with whatever of it holds before any attack, and what does not; no scene if it cannot be set up."""
    with ground() as stage:
        try:
            prepare(stage, scene.attack.setup)
            eyes = Eyes(stage, scene.attack)
            truths = tuple(truth for truth in scene.attack.truth if eyes.holds(truth))
        except (UnsoundAttack, Unsupported, Refused) as reason:
            return None, f"{scene.name}: {reason}"
    with ground() as stage:
        prepare(stage, scene.attack.setup)
        honest = tuple(call for call in scene.attack.honest if goes_through(stage, call, "before"))
    lost = [f"{scene.name}: the truth does not act before any attack"] * (truths != scene.attack.truth)
    if honest != scene.attack.honest:
        lost.append(f"{scene.name}: the honest call does not go through before any attack")
    return replace(scene, attack=replace(scene.attack, truth=truths, honest=honest)), "; ".join(lost)


def _tried(ground: Ground, sequence: Sequence) -> Trial:
    attack = replace(sequence.scene.attack, attack=sequence.steps)
    with ground() as stage:
        prepare(stage, attack.setup)
        play(stage, attack.attack)
        turned_down = [f"turned down: {code}" for code in (*stage.refusals, *stage.held)]
        outcome = look_after(attack, stage, Before(attack.truth, attack.honest), 0)
        hits = Eyes(stage, attack).asked(sequence.scene.query)
    answers = stage.heard[: len(attack.attempts)]
    seen = frozenset((*turned_down, *(f"answered: {one.code}" for one in answers), *_shown(sequence.scene, hits)))
    waits = sum(one.ticket is not None for one in answers)
    return Trial(_got(outcome), seen, _nearness(sequence.scene, outcome, hits) + 2 * waits, frozenset(stage.lacking))


def _got(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    got = {goal: getattr(outcome, goal) for goal in GOALS}
    return {goal: what for goal, what in got.items() if what}


def _shown(scene: Scene, hits: list[Hit]) -> Iterator[str]:
    """Where the planted text and the truth come up, and what the target says about them."""
    truths = {truth.text for truth in scene.attack.truth}
    for place, hit in enumerate(hits):
        if scene.attack.is_poison(hit.text):
            yield f"the lie at {place}"
            yield f"the lie: {_ID.sub('another', hit.why)}"
        if hit.text in truths:
            yield f"the truth at {place}"
            yield f"the truth: {_ID.sub('another', hit.why)}"


def _nearness(scene: Scene, outcome: Outcome, hits: list[Hit]) -> int:
    """Stored, shown, shown first, shown before the truth, the truth not shown: one each."""
    truths = {truth.text for truth in scene.attack.truth}
    lies = [place for place, hit in enumerate(hits) if scene.attack.is_poison(hit.text)]
    true = [place for place, hit in enumerate(hits) if hit.text in truths]
    first = bool(lies) and (lies[0] == 0) + bool(true and lies[0] < true[0])
    return bool(outcome.planted) + bool(lies) + first + bool(truths and not true)
