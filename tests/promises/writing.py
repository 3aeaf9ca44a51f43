"""The operations that write, change, delete and bring back memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.promises.agreement import later, same, same_footing
from tests.promises.record import Outcome, attempt
from tests.promises.side import KEEP, Side
from tests.promises.twins import Twins
from tests.promises.vocabulary import Fact, wordings
from tests.promises.world import SYSTEMS


@dataclass(frozen=True)
class Remember:
    """Write one memory, over a channel and by one of the three ways."""

    channel: str
    text: str
    way: str = KEEP
    session: str | None = None
    principal: str | None = None
    parents: tuple[int, ...] = ()
    quote: str | None = None
    kind: str = "semantic"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    days: int | None = None

    def run(self, twins: Twins) -> None:
        via = twins.world.channel(self.channel)
        if via == "agent" and not same_footing(twins, self.session, self.quote, self.text):
            self.on(twins, twins.laden, via, extra=True)
            return
        twins.wrote(*twins.both(lambda side: self.on(twins, side, via)), self)

    def on(self, twins: Twins, side: Side, via: str, *, extra: bool = False) -> Outcome:
        pairs = [pair for number in self.parents if (pair := twins.pick(number))]
        fields: dict[str, Any] = {
            "principal": self.principal,
            "parents": list(dict.fromkeys(getattr(pair, side.name) for pair in pairs)),
            "quote": self.quote,
            "kind": self.kind,
            "metadata": self.metadata,
            "expires_at": later(twins, self.days),
        }
        return side.remember(self.text, via, way=self.way, session=self.session, extra=extra, **fields)


@dataclass(frozen=True)
class RememberMany:
    """Write a batch."""

    channel: str
    texts: tuple[str, ...]
    skip_rejected: bool
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        via = twins.world.channel(self.channel)
        options: dict[str, Any] = {"way": self.way, "skip_rejected": self.skip_rejected}
        plain, laden = (side.remember_many(self.texts, via, **options) for side in twins.sides)
        pairs = list(zip(plain, laden, strict=True))
        # Where a person turned one of them down, hearsay that came with it is refused with it.
        is_refused_with_it = any(twins.is_hearsays_own(one, other) for one, other in pairs)
        for one, other in pairs:
            if not (is_refused_with_it and one.is_doubtful and other.code == "batch_refused"):
                twins.wrote(one, other, self)


@dataclass(frozen=True)
class Update:
    """Offer new content for a memory."""

    which: int
    channel: str
    text: str
    session: str | None = None
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        via, pair = twins.world.channel(self.channel), twins.pick(self.which)
        if pair is None:
            return
        options: dict[str, Any] = {"session": self.session, "way": self.way}
        if via == "agent" and not same_footing(twins, self.session, None, self.text):
            twins.laden.update(pair.laden, self.text, via, **options)
            return
        plain = twins.plain.update(pair.plain, self.text, via, **options)
        twins.wrote(plain, twins.laden.update(pair.laden, self.text, via, **options), self)


@dataclass(frozen=True)
class Delete:
    """Forget a memory, or propose it."""

    which: int
    channel: str
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        via, pair = twins.world.channel(self.channel), twins.pick(self.which)
        if pair is not None:
            twins.wrote(*twins.both(lambda side: side.forget(getattr(pair, side.name), via, way=self.way)), self)


@dataclass(frozen=True)
class BringBack:
    """A person makes a memory the newest word again, be it there, replaced or deleted."""

    which: int
    channel: str

    def run(self, twins: Twins) -> None:
        if twins.known:
            via, pair = twins.world.channel(self.channel), twins.known[self.which % len(twins.known)]
            twins.wrote(*twins.both(lambda side: side.bring_back(getattr(pair, side.name), via)), self)


@dataclass(frozen=True)
class Pin:
    """Somebody pins a memory, or takes its pin away: it gives room in a prompt, and nothing else."""

    which: int
    channel: str
    pinned: bool

    def run(self, twins: Twins) -> None:
        if twins.known:
            via, pair = twins.world.channel(self.channel), twins.known[self.which % len(twins.known)]

            def change(side: Side) -> Outcome:
                done = side.keep.pin if self.pinned else side.keep.unpin
                told = attempt(lambda: done(getattr(pair, side.name), via=via))
                side.keep.proposed_pins()
                return told

            same(twins.both(change), self)


@dataclass(frozen=True)
class ForgetAndBringBack:
    """The owner has something forgotten in plain words and takes that back; hearsay changes nothing about it."""

    about: str

    def run(self, twins: Twins) -> None:
        via = twins.world.channel("owner")
        pair = twins.pick(0)
        if pair is not None:
            same(twins.both(lambda side: attempt(lambda: self._forgotten(side, via, getattr(pair, side.name)))), self)

    def _forgotten(self, side: Side, via: str, memory_id: str) -> str:
        shown = side.keep.bind(via).forget(self.about, dry_run=True)
        told = side.keep.forget([memory_id], via=via)
        if told.done:
            told.undo()
        return f"{shown.code}, {told.code}, {len(told.matches)}"


@dataclass(frozen=True)
class Agree:
    """Two enrolled systems state one fact, each in its own words."""

    fact: Fact
    words: tuple[int, int]

    def run(self, twins: Twins) -> None:
        forms = wordings(self.fact)
        for via, word in zip(SYSTEMS, self.words, strict=True):
            Remember(via, forms[word % len(forms)]).run(twins)
