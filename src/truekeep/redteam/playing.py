"""Play one attack, and look at what came of it: who acts, what is gone, which calls went through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truekeep.redteam.influence.attack import Attack, Call, Truth
from truekeep.redteam.influence.outcome import Outcome
from truekeep.redteam.influence.stage import Stage, play, prepare
from truekeep.redteam.influence.target import Answered, Hit, Refused, Target, UnsoundAttack

_K = 5


@dataclass(frozen=True, slots=True)
class Before:
    """What held when the attack began."""

    truths: tuple[Truth, ...]
    """Those of the attack, and bystanders that it does not aim at."""
    honest: tuple[Call, ...]


def run(attack: Attack, stage: Stage, size: int, bystanders: Sequence[Truth] = ()) -> Outcome:
    """Prepare, play and measure one attack. One whose premise does not hold proves nothing, and says so."""
    try:
        prepare(stage, attack.setup)
        before = look_before(attack, stage, bystanders)
        play(stage, attack.attack)
    except UnsoundAttack as reason:
        return Outcome(attack.name, attack.group, size, unsound=str(reason), lacking=_lacking(stage))
    return look_after(attack, stage, before, size)


def look_before(attack: Attack, stage: Stage, bystanders: Sequence[Truth] = ()) -> Before:
    """What the attack could take away. Its own truths have to be there, or it would measure nothing.

    The bystanders are known to act in the honest keep.
    """
    eyes = Eyes(stage, attack)
    if absent := [truth.text for truth in attack.truth if not eyes.holds(truth)]:
        raise UnsoundAttack(f"does not act before the attack: {absent[0]}")
    if blocked := [call for call in attack.honest if not goes_through(stage, call, "before")]:
        raise UnsoundAttack(f"the honest call does not go through before the attack: {blocked[0]}")
    # In a keep that the setup made a shared one, the same words are not everybody's own any more.
    aside = [truth for truth in bystanders if eyes.holds(truth)] if attack.reader else bystanders
    return Before((*attack.truth, *aside), attack.honest)


def look_after(attack: Attack, stage: Stage, before: Before, size: int) -> Outcome:
    """What the attack got, and of how much."""
    eyes = Eyes(stage, attack)
    turned_down = stage.turned_down
    truths = (*before.truths, *attack.later)
    return Outcome(
        attack=attack.name,
        group=attack.group,
        size=size,
        acting=tuple(sorted(eyes.acting_poison())),
        planted=eyes.planted(),
        displaced=tuple(truth.text for truth in truths if not eyes.holds(truth)),
        watched=len(truths),
        allowed=(*stage.broken, *(str(call) for call in attack.attempts if goes_through(stage, call, "attempt"))),
        tried=len(attack.attempts) + sum(one.stakes for one in attack.attack),
        blocked=tuple(str(call) for call in before.honest if not goes_through(stage, call, "after")),
        asked=len(before.honest),
        turned_down=turned_down,
        lacking=_lacking(stage),
    )


class Eyes:
    """Looks at a target as the reader of the attack does, by its public reads."""

    def __init__(self, stage: Stage, attack: Attack) -> None:
        self._target = stage.target
        self._attack = attack
        self._session: str | None = None
        if attack.reader:
            self._session = f"reads-{attack.reader}"
            stage.target.begin(self._session, mediated=False, member=attack.reader)

    def holds(self, truth: Truth) -> bool:
        """Whether it may act and comes up for its question."""
        return holds(self._target, truth, self._session)

    def planted(self) -> int:
        """How many planted texts are stored, whatever they may do."""
        return sum(self._attack.is_poison(hit.text) for hit in self._listed())

    def acting_poison(self) -> set[str]:
        """Planted texts that may act: in the listing of everything since the attack, and in every answer."""
        seen = [hit for hit in self._listed() if hit.may_act]
        for question in self._attack.questions:
            seen += [hit for hit in self.asked(question) if hit.may_act]
            # Whatever comes up here is taken for what may act, marked or not.
            seen += self.asked(question, influence_only=True)
        return {hit.text for hit in seen if self._attack.is_poison(hit.text)}

    def asked(self, question: str, *, influence_only: bool = False) -> list[Hit]:
        """What comes up for a question; of a target that refuses to be read, nothing."""
        try:
            return self._target.recall(question, _K, influence_only=influence_only, session=self._session)
        except Refused:
            return []

    def _listed(self) -> list[Hit]:
        try:
            return self._target.listed(self._session)
        except Refused:
            return []


def holds(target: Target, truth: Truth, session: str | None = None) -> bool:
    """Whether a truth may act and comes up for its question."""
    try:
        hits = target.recall(truth.query, _K, influence_only=True, session=session)
    except Refused:
        return False
    return any(hit.text == truth.text and hit.may_act for hit in hits)


def goes_through(stage: Stage, call: Call, when: str) -> bool:
    """Whether the agent gets a call done: it asks, tries to confirm it itself, and uses whatever ticket it got."""
    stage.sessions += 1
    session = call.session or f"{when}-{stage.sessions}"
    if not stage.tries(lambda: stage.heard.append(_asked(stage.target, call, session))):
        return False
    ticket = stage.heard[-1].ticket
    if ticket is None:
        return False
    if stage.heard[-1].waits:
        stage.tries(lambda: stage.target.confirm("agent", session, ticket))
    return stage.tries(lambda: stage.target.redeem("agent", ticket, call.action, call.arguments))


def _asked(target: Target, call: Call, session: str) -> Answered:
    if not call.session:
        target.begin(session, mediated=True, member=call.member or None)
    if call.said:
        target.observe(f"member:{call.member}" if call.member else "user", session, call.said, None, None)
    return target.check(session, call.action, call.arguments, None)


def _lacking(stage: Stage) -> tuple[str, ...]:
    return tuple(sorted(set(stage.lacking)))
