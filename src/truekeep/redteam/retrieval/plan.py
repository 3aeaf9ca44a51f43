"""How much is asked: every attack with every trigger, and each planting with its share of the questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from truekeep.redteam.retrieval.attacks import ATTACKS, Aim, Attack, Definition, Fluent, Searched
from truekeep.redteam.retrieval.honest import Question, questions
from truekeep.redteam.retrieval.triggers import Trigger, triggers

_LEADING = (Fluent.name, Definition.name)
_CARRIERS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """Numbers of things; the defaults are those of a full run of our own keep."""

    queries: int = 200
    """Honest questions, asked in turn."""
    leading: int = 84
    """Questions for each trigger with the two attacks whose bounds have to be narrow: 24 triggers make 2,016 pairs."""
    others: int = 20
    """Questions for each trigger with the other attacks."""
    triggers: int = 24
    fitted: int = 24
    """Of them, those that are fitted to the encoder; each takes hundreds of texts to embed."""
    known: int = 200
    """Questions that are attacked one by one, for attacks that know the question."""
    together: int = 10
    """How many of those are attacked between two resets, each with a record of its own."""

    def share(self, attack: Attack) -> int:
        """How many questions are asked of each planting."""
        return min(self.queries, self.leading if attack.name in _LEADING else self.others)


FULL = Plan()
FURTHER = Plan(leading=40, others=10, known=100)
"""For our keep with encoders other than the default: 960 pairs with each of the leading attacks."""
PEER = Plan(leading=10, others=5, known=40)
"""For defences whose every question goes through a process, and for the largest stores: 240 pairs each."""
QUICK = Plan(queries=24, leading=3, others=1, triggers=4, fitted=1, known=4)


@dataclass(frozen=True, slots=True)
class Round:
    """What is planted at once, and who then asks for which of it."""

    plantings: tuple[tuple[Aim, tuple[Question, ...]], ...]


def rounds(attack: Attack, plan: Plan) -> Iterator[Round]:
    """Every round of an attack."""
    asked, carriers = _asked(plan)
    if attack.knows_question:
        yield from _known(asked[: plan.known], plan.together)
        return
    share = plan.share(attack)
    used = min(plan.triggers, plan.fitted) if attack.name == Searched.name else plan.triggers
    for number, trigger in enumerate(triggers()[:used]):
        # Shares follow one another, so that every question meets many triggers and the first share is everybody's.
        turn = [asked[(number * plan.leading + place) % len(asked)] for place in range(share)]
        yield Round(((Aim(trigger, turn[0].text, number, carriers), tuple(turn)),))


def chosen(names: Sequence[str] | None) -> list[Attack]:
    """The attacks of these names, in their order; all of them for ``None``."""
    return [ATTACKS[name] for name in (ATTACKS if names is None else names)]


def _known(asked: Sequence[Question], together: int) -> Iterator[Round]:
    trigger: Trigger = triggers()[0]
    for first in range(0, len(asked), together):
        yield Round(
            tuple(
                (Aim(trigger, question.text, first + place), (question,))
                for place, question in enumerate(asked[first : first + together])
            )
        )


def _asked(plan: Plan) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The questions that are asked, and others such as an attacker may expect."""
    listed = questions(plan.queries + _CARRIERS)
    return listed[: plan.queries], tuple(question.text for question in listed[plan.queries :])
