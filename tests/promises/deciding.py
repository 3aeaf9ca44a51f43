"""The operations of reviewers and operators: decide, enrol, take back, erase, restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from tests.promises.agreement import later, pick_item, same
from tests.promises.record import Outcome, PromiseBroken, attempt
from tests.promises.side import Side
from tests.promises.twins import IncidentPair, Twins
from tests.promises.world import DESK
from truekeep.incident.report import IncidentReport
from truekeep.review.decisions import item_etag

_BY: dict[str, Any] = {"by": "eva", "reason": "it has to be"}


@dataclass(frozen=True)
class Approve:
    """A reviewer lets an item in, perhaps within limits."""

    which: int
    limits: tuple[tuple[str, Any], ...] = ()
    days: int | None = None

    def run(self, twins: Twins) -> None:
        if (pair := pick_item(twins, self.which)) is not None:
            limits = {**dict(self.limits), "until": later(twins, self.days)}
            plain, laden = twins.both(lambda side: side.approve(getattr(pair, side.name), **limits))
            twins.wrote(plain, laden, self)


@dataclass(frozen=True)
class Reject:
    """A reviewer turns an item down."""

    which: int

    def run(self, twins: Twins) -> None:
        if (pair := pick_item(twins, self.which)) is not None:
            same(twins.both(lambda side: turn_down(side, getattr(pair, side.name))), self)


@dataclass(frozen=True)
class DecideSeveral:
    """A reviewer turns several items down at once, as they stood when they were looked at."""

    which: tuple[int, ...]

    def run(self, twins: Twins) -> None:
        pairs = [pair for one in self.which if (pair := pick_item(twins, one)) is not None]

        def decide(side: Side) -> Outcome:
            items = [side.keep.review.show(getattr(pair, side.name)) for pair in pairs]
            seen = [(item.id, item_etag(item)) for item in items]
            return Outcome(" ".join(side.keep.review.decide(seen, approve=False, **_BY).values()))

        same(twins.both(decide), self)


@dataclass(frozen=True)
class Reconsider:
    """A reviewer decides and takes the decision back: nothing is left of it."""

    which: int
    approve: bool

    def run(self, twins: Twins) -> None:
        if (pair := pick_item(twins, self.which)) is None:
            return
        for side in twins.sides:
            before, item_id, review = acting(side), getattr(pair, side.name), side.keep.review
            decide = review.approve if self.approve else review.reject
            if attempt(partial(decide, item_id, by="eva", reason="a slip")).ok:
                review.undo(item_id, by="eva", reason="it was a slip")
                if acting(side) != before:
                    raise PromiseBroken(f"P2: {self} changed who acts")


@dataclass(frozen=True)
class Wait:
    """What the agent noted waits for the owner, or is left what it is: nobody acts for it who did not, or stops."""

    leaves: bool

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            before, review = acting(side), side.keep.review
            for memory in side.keep.get_memories():
                item = review.note_waits(memory["id"])
                if item is not None and item.state == "open" and self.leaves:
                    review.leave(item.id, **_BY)
                review.known(memory["content"])
            if acting(side) != before:
                raise PromiseBroken(f"P1: {self} changed who acts")


@dataclass(frozen=True)
class Mute:
    """A person no longer wants to hear of a source, or does again."""

    principal: str
    again: bool

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            channels = side.keep.channels
            (channels.unmute if self.again else channels.mute)("web", self.principal, **_BY)


@dataclass(frozen=True)
class Lift:
    """A reviewer lets a claim be said again."""

    text: str

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            side.keep.review.lift(self.text, by="eva", reason="it is true after all")


@dataclass(frozen=True)
class Enrol:
    """The operator lets one more system in, or closes its way."""

    retire: bool

    def run(self, twins: Twins) -> None:
        def decide(side: Side) -> Outcome:
            channels = side.keep.channels
            act = channels.retire if self.retire else channels.enrol
            return attempt(lambda: act(DESK, by="eva", reason="as agreed"))

        same(twins.both(decide), self)


@dataclass(frozen=True)
class Revoke:
    """An operator takes a source back with all that was derived from it."""

    source: tuple[tuple[str, str], ...]
    minutes: int | None = None
    dry_run: bool = False

    def run(self, twins: Twins) -> None:
        since = None if self.minutes is None else twins.now - timedelta(minutes=self.minutes)
        source: dict[str, Any] = {**dict(self.source), "since": since}
        taken_back(twins, lambda side: side.keep.revoke(**source, **_BY, dry_run=self.dry_run), self)


@dataclass(frozen=True)
class Rewind:
    """An operator puts the memories back to what they were some time ago."""

    minutes: float

    def run(self, twins: Twins) -> None:
        to = max(twins.now - timedelta(minutes=self.minutes), twins.began)
        taken_back(twins, lambda side: side.keep.rewind(to, **_BY), self)


@dataclass(frozen=True)
class Undo:
    """An operator takes that back again."""

    which: int

    def run(self, twins: Twins) -> None:
        if twins.incidents:
            pair = twins.incidents[self.which % len(twins.incidents)]
            same(twins.both(lambda side: attempt(lambda: side.keep.undo(getattr(pair, side.name), **_BY))), self)


@dataclass(frozen=True)
class Erase:
    """A person has a memory, or all that names somebody, erased for good."""

    which: int
    subject: str | None = None

    def run(self, twins: Twins) -> None:
        pair = twins.pick(self.which) if self.subject is None else None
        if pair is None and self.subject is None:
            return

        def erase(side: Side) -> Outcome:
            return side.erase([getattr(pair, side.name)] if pair else [], self.subject)

        same(twins.both(erase), self)


@dataclass(frozen=True)
class Pass:
    """Time passes."""

    minutes: int

    def run(self, twins: Twins) -> None:
        twins.advance(minutes=self.minutes)


@dataclass(frozen=True)
class Maintain:
    """Restart, or index anew."""

    restart: bool

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            if self.restart:
                side.reopen()
            else:
                attempt(partial(_reindexed, side))


def acting(side: Side) -> dict[str, bool]:
    """Which memories may act."""
    return {entry["id"]: entry["may_act"] for entry in side.keep.get_memories()}


def _reindexed(side: Side) -> list[Any]:
    return list(side.keep.reindex())


def turn_down(side: Side, item_id: str) -> Outcome:
    """Reject an item."""
    return attempt(lambda: side.keep.review.reject(item_id, by="eva", reason="not so"))


def taken_back(twins: Twins, act: Callable[[Side], IncidentReport], what: Any) -> None:
    """Do what opens an incident on both sides, and remember it so that it can be undone."""
    plain, laden = outcomes = twins.both(lambda side: attempt(lambda: act(side)))
    same(outcomes, what)
    if plain.ok and plain.value.data["incident"] is not None:
        twins.incidents.append(IncidentPair(plain.value.data["incident"], laden.value.data["incident"]))
