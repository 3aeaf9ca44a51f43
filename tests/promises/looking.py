"""The operations that read. Inside a session they show it something; outside they change nothing at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from tests.promises.agreement import same
from tests.promises.record import PromiseBroken, attempt
from tests.promises.side import KEEP, Side
from tests.promises.twins import Twins
from tests.promises.vocabulary import INJECTION
from truekeep.handles import Handle


@dataclass(frozen=True)
class Recall:
    """Ask, inside a session or not."""

    session: str | None
    query: str
    k: int = 5
    influence_only: bool = False
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        options: dict[str, Any] = {"k": self.k, "influence_only": self.influence_only, "background": True}
        for side in twins.sides:
            door = side.within(self.way, self.session)
            if door is not None:
                hits = door.recall(self.query, **options)
            else:
                hits = side.keep.recall(self.query, session=self.session, **options)
            side.shown(self.session, [hit.memory for hit in hits if not hit.blocked])


@dataclass(frozen=True)
class ListAll:
    """List, inside a session or not."""

    session: str | None
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            door = side.within(self.way, self.session)
            listed = door.get_memories() if door is not None else side.keep.get_memories(session=self.session)
            memories = side.memories()
            side.shown(self.session, [memories[entry["id"]] for entry in listed if not entry["blocked"]])


@dataclass(frozen=True)
class LookAt:
    """Look at one memory, inside a session or not."""

    session: str | None
    which: int
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        if (pair := twins.pick(self.which)) is None:
            return
        for side in twins.sides:
            memory_id, door = getattr(pair, side.name), side.within(self.way, self.session)
            look = door.get_memory if isinstance(door, Handle) else partial(side.keep.get_memory, session=self.session)
            if not look(memory_id)["blocked"]:
                side.shown(self.session, [side.memories()[memory_id]])


@dataclass(frozen=True)
class Freeze:
    """Take a session's snapshot."""

    session: str
    refresh: bool
    way: str = KEEP

    def run(self, twins: Twins) -> None:
        same(twins.both(lambda side: side.freeze(self.session, refresh=self.refresh, way=self.way)), self)


@dataclass(frozen=True)
class LookAround:
    """Everything a person or a program can look at without a session."""

    which: int
    session: str

    def run(self, twins: Twins) -> None:
        pair = twins.known[self.which % len(twins.known)] if twins.known else None
        for side in twins.sides:
            before = side.keep._ledger.head.seq
            self.look(side, getattr(pair, side.name) if pair else "mem_none", twins)
            kinds = [event.kind for event in side.keep.audit.events(after=before)]
            if kinds != ["keep.exported"]:  # that it was exported is audited, and nothing else
                raise PromiseBroken(f"P2: looking wrote {kinds}")

    def look(self, side: Side, memory_id: str, twins: Twins) -> None:
        keep, then = side.keep, twins.now - timedelta(days=1)
        abouts: tuple[Callable[[str], Any], ...] = (keep.get_memory, keep.history, keep.trace, keep.exposures)
        for about in abouts:
            attempt(partial(about, memory_id))
        keep.weigh(INJECTION, via="web")
        attempt(lambda: keep.blame(f"run-{self.which % 4}"))
        attempt(lambda: keep.recall("Northwind account", as_of=then))
        attempt(lambda: keep.get_memories(as_of=then))
        attempt(lambda: keep.rewind(then, dry_run=True))
        attempt(lambda: keep.reach(principal="evil.example"))
        attempt(lambda: keep.account("inc_none"))
        list(keep.audit.exported()), keep.audit.page(), keep.audit.writes_by_day(then.date(), 3)
        keep.browse(), keep.sources(), keep.audit.kinds(), keep.audit.actors(), keep.audit.state()
        keep.audit.rejected_sources(then.date())
        for everything in (keep.incidents, keep.export, keep.describe, keep.audit.verify, keep.audit.events):
            everything()
        keep.is_clean(self.session), keep.grants.list()
        for ticket in keep.actions.tickets.all()[-1:]:
            keep.actions.why(ticket.id), keep.actions.question(ticket.id)
        keep.channels.list(), keep.actions.pending(), keep.extraction.jobs(), keep.prompts.all()
        keep.working.list(), keep.working.get(self.session), keep.working.window(self.session)
        keep.audit.state(), keep.channels.muted()
        keep.review.count(), keep.review.groups(), keep.review.noted(), keep.review.facets()
        for item in keep.review.list()[:1]:
            keep.review.show(item.id), keep.review.chain(item.id), keep.review.outlook(item.id, by="eva")
