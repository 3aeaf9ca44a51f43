"""Extraction: a session is distilled on both sides, by the built-in extractor or by a model that claims anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.extract.parrot import Parrot
from tests.promises.agreement import same, same_footing
from tests.promises.record import Outcome, PromiseBroken, answered, attempt
from tests.promises.side import HANDLE, KEEP, SESSION, Side
from tests.promises.talking import Observe
from tests.promises.twins import Twins
from truekeep.extract.run import Distilled, Taken
from truekeep.types import Standing

QUEUE, CUSTOM = "queue", "custom"
PROMPT = "Note what the person says about payees. Only what they said themselves."
Claim = tuple[str, str]
"""A text, and the quote that a model claims it rests on."""


@dataclass(frozen=True)
class Found:
    """What came of one candidate on one side."""

    text: str
    standing: Standing
    outcome: Outcome


@dataclass(frozen=True)
class Distil:
    """The person says something, and the session is distilled. Without claims no model is asked."""

    session: str
    said: str
    claims: tuple[Claim, ...] = ()
    strategy: str = "discrete"
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        Observe(self.session, "owner", self.said).run(twins)
        if self.session in twins.echoed:
            return
        # A claim that the agent could make on one side only is a part of the hearsay, and made there alone.
        shared = [claim for claim in self.claims if same_footing(twins, self.session, claim[1], claim[0])]
        if self.way == QUEUE:
            same(
                twins.both(lambda side: attempt(lambda: side.keep.extraction.queue(self.session, self.strategy))), self
            )
            twins.advance(minutes=1)
        plain, laden = self.on(twins.plain, shared), self.on(twins.laden, self.claims)
        same((plain, laden), self)
        if plain.ok:
            match(twins, plain.value, laden.value, self)

    def on(self, side: Side, claims: Sequence[Claim]) -> Outcome:
        done = attempt(lambda: self._extracted(side, claims))
        if not done.ok:
            return done
        runs: list[Distilled] = done.value
        found = [self._noted(side, taken) for run in runs for taken in run.taken]
        return Outcome("ok", value=[one for one in found if one is not None])

    def _extracted(self, side: Side, claims: Sequence[Claim]) -> list[Distilled]:
        model: Any = Parrot(claims) if self.claims else None
        if self.way == QUEUE:
            return side.keep.extraction.run(model)
        options: dict[str, Any] = {"strategy": self.strategy, "model": model}
        if self.strategy == CUSTOM:
            options |= {"via": side.world.speaker(self.session), "prompt": approved_prompt(side)}
        door = side.within(self.way, self.session) if self.strategy != CUSTOM else None
        return [door.extract(**options) if door is not None else side.keep.extract(self.session, **options)]

    def _noted(self, side: Side, taken: Taken) -> Found | None:
        verdict, extraction = taken.verdict, taken.extraction
        outcome = answered(verdict)
        stored = side.stored(outcome)
        most = side.most(extraction.text, "agent", self.session, None, (), extraction.quote)
        if not self.claims and all(_is_said(side, self.session, one.quote) for one in extraction.supports):
            most = Standing.OWNER
        if extraction.text in side.said[self.session]:
            most = Standing.OWNER  # a whole message of the person's, kept word for word
        via = stored.origin.channel if stored is not None else "agent"
        outcome = side.took(outcome, extraction.text, via, self.session, {}, extra=False, most=most)
        return Found(extraction.text, stored.standing, outcome) if stored is not None else None


def match(twins: Twins, plain: Sequence[Found], laden: Sequence[Found], what: object) -> None:
    """What was proved or vouched for is found on both sides alike; more hearsay may be found with the hearsay."""
    waiting = list(laden)
    for one in plain:
        other = next((two for two in waiting if (two.text, two.standing) == (one.text, one.standing)), None)
        if other is not None:
            waiting.remove(other)
            twins.wrote(one.outcome, other.outcome, what)
        elif one.standing is not Standing.HEARSAY:
            raise PromiseBroken(f"P2: with hearsay {one.text!r} is no longer taken out of {what}")
    for two in waiting:
        if two.standing is not Standing.HEARSAY:
            raise PromiseBroken(f"P1: hearsay lets {two.text!r} be taken out of {what} as {two.standing.label}")
        if two.outcome.memory_id is not None:
            twins.laden.set_apart(two.outcome.memory_id)


def approved_prompt(side: Side) -> str:
    """The name of a prompt that somebody wrote and somebody else approved."""
    prompts = side.keep.prompts
    if not prompts.all():
        prompts.add("payees", PROMPT, by="bob")
        prompts.approve("payees", by="eva", reason="looks fine")
        prompts.add("unused", f"{PROMPT} Nothing else.", by="bob")
        prompts.disable("unused", by="eva", reason="not needed")
    return "payees"


def _is_said(side: Side, session: str, quote: str) -> bool:
    return any(quote in one for one in side.said[session])


WAYS = (KEEP, SESSION, HANDLE, QUEUE)
