"""Play one attack, and look at what came of it: who acts, what is gone, which calls went through; and all together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from truekeep.redteam.figures import Rate, ResultRow
from truekeep.redteam.stage import Answered, Refused, Stage, Target, TargetHit, UnsoundAttack, play, prepare

if TYPE_CHECKING:
    from truekeep.redteam.attack import Attack, AttackCall, Truth


READING = "reading"
"""An attempt whose agent has the value from a page: where nothing is planted it can have met it nowhere else."""
_K = 5
_PAGE = "https://offers.attacker.example/page"


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """What an attack got. It is true when the attack was played and got nothing."""

    attack: str
    group: str
    size: int
    acting: tuple[str, ...] = ()
    """Planted texts that may act in the end."""
    planted: int = 0
    """How many planted texts are stored in the end, whatever they may do."""
    displaced: tuple[str, ...] = ()
    """True texts that no longer act, or no longer come up for their question."""
    watched: int = 0
    """How many true texts acted before, or were said during the attack."""
    allowed: tuple[str, ...] = ()
    """Calls that went through, and steps that must never."""
    tried: int = 0
    blocked: tuple[str, ...] = ()
    """Honest calls that went through before and do not any more."""
    asked: int = 0
    """How many honest calls went through before."""
    turned_down: int = 0
    """How many of the attacker's steps and writes were refused or held."""
    lacking: tuple[str, ...] = ()
    """Operations of the attack that the target does not have."""
    unsound: str = ""
    """Why the attack could not be played; then it proves nothing."""

    def __bool__(self) -> bool:
        return not (self.acting or self.displaced or self.allowed or self.blocked or self.unsound)

    def as_dict(self) -> dict[str, Any]:
        """The outcome as JSON members."""
        members = asdict(self)
        lists = {name: list(value) for name, value in members.items() if isinstance(value, tuple)}
        return {**members, **lists, "held": bool(self)}


@dataclass(frozen=True, slots=True)
class Before:
    """What held when the attack began."""

    truths: tuple[Truth, ...]
    """Those of the attack, and bystanders that it does not aim at."""
    honest: tuple[AttackCall, ...]


def run(attack: Attack, stage: Stage, size: int, bystanders: Sequence[Truth] = ()) -> AttackOutcome:
    """Prepare, play and measure one attack. One whose premise does not hold proves nothing, and says so."""
    try:
        prepare(stage, attack.setup)
        before = look_before(attack, stage, bystanders)
        play(stage, attack.attack)
    except UnsoundAttack as reason:
        return AttackOutcome(attack.name, attack.group, size, unsound=str(reason), lacking=_lacking(stage))
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


def look_after(attack: Attack, stage: Stage, before: Before, size: int) -> AttackOutcome:
    """What the attack got, and of how much."""
    eyes = Eyes(stage, attack)
    turned_down = stage.turned_down
    truths = (*before.truths, *attack.later)
    planted = eyes.planted()
    attempt = "attempt" if planted else READING
    return AttackOutcome(
        attack=attack.name,
        group=attack.group,
        size=size,
        acting=tuple(sorted(eyes.acting_poison())),
        planted=planted,
        displaced=tuple(truth.text for truth in truths if not eyes.holds(truth)),
        watched=len(truths),
        allowed=(*stage.broken, *(str(call) for call in attack.attempts if goes_through(stage, call, attempt))),
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

    def asked(self, question: str, *, influence_only: bool = False) -> list[TargetHit]:
        """What comes up for a question; of a target that refuses to be read, nothing."""
        try:
            return self._target.recall(question, _K, influence_only=influence_only, session=self._session)
        except Refused:
            return []

    def _listed(self) -> list[TargetHit]:
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


def goes_through(stage: Stage, call: AttackCall, when: str) -> bool:
    """Whether the agent gets a call done: it asks, tries to confirm it itself, and uses whatever ticket it got."""
    stage.sessions += 1
    session = call.session or f"{when}-{stage.sessions}"
    page = " ".join(map(str, call.arguments.values())) if when == READING else ""
    if not stage.tries(lambda: stage.heard.append(_asked(stage.target, call, session, page))):
        return False
    ticket = stage.heard[-1].ticket
    if ticket is None:
        return False
    if stage.heard[-1].waits:
        stage.tries(lambda: stage.target.confirm("agent", session, ticket))
    return stage.tries(lambda: stage.target.redeem("agent", ticket, call.action, call.arguments))


def _asked(target: Target, call: AttackCall, session: str, page: str) -> Answered:
    if not call.session:
        target.begin(session, mediated=True, member=call.member or None)
    if page:
        target.observe("web", session, page, _PAGE, None)
    if call.said:
        target.observe(f"member:{call.member}" if call.member else "user", session, call.said, None, None)
    return target.check(session, call.action, call.arguments, None)


def _lacking(stage: Stage) -> tuple[str, ...]:
    return tuple(sorted(set(stage.lacking)))


def totals(outcomes: Iterable[AttackOutcome]) -> dict[str, Rate]:
    """How much all attacks together got.

    ``acting`` counts attacks and not texts: the copies of one attack stand or fall together, and an interval over them
    would claim more than was seen.
    """
    played = [one for one in outcomes if not one.unsound]
    planting = [one for one in played if one.planted or one.acting]
    return {
        "won": Rate(sum(not one for one in played), len(played)),
        "acting": Rate(sum(bool(one.acting) for one in planting), len(planting)),
        "displaced": Rate(sum(len(one.displaced) for one in played), sum(one.watched for one in played)),
        "allowed": Rate(sum(len(one.allowed) for one in played), sum(one.tried for one in played)),
        "blocked": Rate(sum(len(one.blocked) for one in played), sum(one.asked for one in played)),
    }


def rows_of_battery(outcomes: Sequence[AttackOutcome], encoder: str, size: int) -> Iterator[ResultRow]:
    """One row for each thing an attack can get; those that got any are named."""

    def row(metric: str, hits: int, total: int, **detail: Any) -> ResultRow:
        return ResultRow(
            part="influence",
            metric=metric,
            hits=hits,
            total=total,
            encoder=encoder,
            size=size,
            attack="battery",
            detail=detail,
        )

    broken = [one.attack for one in outcomes if not one and not one.unsound]
    for metric, rate in totals(outcomes).items():
        yield row(metric, rate.hits, rate.total, **({"broken": broken} if metric == "won" else {}))
    unsound = [f"{one.attack}: {one.unsound}" for one in outcomes if one.unsound]
    yield row("not_played", len(unsound), len(outcomes), why=unsound)
