"""The audit log as a reader sees it: events in order, and whether the store still is what they left behind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from truekeep.chronicle import Chronicle, Wanted
from truekeep.errors import InvalidRequest
from truekeep.stores.base import EventRow
from truekeep.stores.ledger import Ledger
from truekeep.types import AuditEvent, Decision, Verification, utc_moment

ERASED = "[erased]"
"""What stands where a person or their words were erased."""


_MOST_ON_A_PAGE = 1_000
_MOST_REJECTED = 2_000
"""Of how many rejections the sources are counted, the newest."""
_PORTION = 500


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some events, newest first, and where those before them begin."""

    events: tuple[AuditEvent, ...]
    total: int
    """How many there are, from here back."""
    before: int | None = None
    """The number to ask for older ones with; none if these are the oldest."""


@dataclass(frozen=True, slots=True)
class WritesOfDay:
    """How many writes of one day ended how."""

    day: date
    accepted: int
    held: int
    rejected: int


class Audit:
    """The audit log of one keep."""

    def __init__(self, ledger: Ledger, chronicle: Chronicle) -> None:
        self._ledger = ledger
        self._chronicle = chronicle

    def events(self, *, after: int = 0, limit: int | None = None, kinds: Iterable[str] = ()) -> list[AuditEvent]:
        """Events in order, optionally only of some kinds. What was erased from them reads ``[erased]``."""
        wanted = frozenset(kinds)
        with self._ledger.reading():
            rows = [row for row in self._ledger.events(after=after, limit=limit) if not wanted or row.kind in wanted]
            return [self._event(row) for row in rows]

    def page(self, wanted: Wanted | None = None, *, before: int | None = None, limit: int = 50) -> AuditPage:
        """The newest events that are wanted, newest first; ``before`` is the page's before this one."""
        if not 1 <= limit <= _MOST_ON_A_PAGE:
            raise InvalidRequest(f"A page has from 1 to {_MOST_ON_A_PAGE:,} events.", code="invalid_limit")
        with self._ledger.reading():
            numbers, total = self._chronicle.find(wanted or Wanted(), before=before, limit=limit)
            events = tuple(self._event(row) for row in self._rows(numbers))
        return AuditPage(events, total, numbers[-1] if total > len(numbers) else None)

    def exported(self, wanted: Wanted | None = None) -> Iterator[AuditEvent]:
        """All events that are wanted, newest first, read as they are asked for."""
        before: int | None = None
        while True:
            page = self.page(wanted, before=before, limit=_PORTION)
            yield from page.events
            if page.before is None:
                return
            before = page.before

    def kinds(self) -> dict[str, int]:
        """Every kind of event in the log, and how many."""
        return self._chronicle.kinds()

    def actors(self) -> dict[str, int]:
        """Everybody who did something, people and channels, and how much."""
        return self._chronicle.actors()

    def writes_by_day(self, last: date, days: int) -> list[WritesOfDay]:
        """How many writes were accepted, held and rejected on each of so many days, up to the last."""
        found = self._chronicle.writes()

        def of(day: date, decision: Decision) -> int:
            return found.get((day.toordinal(), decision), 0)

        return [
            WritesOfDay(day, of(day, Decision.ACCEPT), of(day, Decision.QUARANTINE), of(day, Decision.REJECT))
            for day in (last - timedelta(days=ago) for ago in reversed(range(days)))
        ]

    def rejected_sources(self, since: date) -> Counter[tuple[str, str | None]]:
        """Over which channels, and from whom, rejected writes came since a day."""
        return self._chronicle.rejected(since, _MOST_REJECTED)

    def verify(self) -> Verification:
        """Check every row and every event again, from the beginning."""
        return self._ledger.verify()

    def state(self) -> Verification:
        """What is known now: what the last check of everything found, and what was noticed since. It costs little."""
        return self._ledger.state()

    def _rows(self, numbers: Iterable[int]) -> Iterator[EventRow]:
        for number in numbers:
            yield from self._ledger.events(after=number - 1, limit=1)

    def _event(self, row: EventRow) -> AuditEvent:
        body = json.loads(row.body)
        body.pop("rows", None)
        if noted := body.pop("noted", None):
            body |= dict.fromkeys(noted, ERASED) | self._note(row.seq)
        return AuditEvent(row.seq, utc_moment(row.at), row.kind, body, row.hash.hex())

    def _note(self, seq: int) -> dict[str, str]:
        sealed = self._ledger.get("notes", str(seq))
        if sealed is None:
            return {}
        note: dict[str, str] = json.loads(sealed.row.body) if sealed.verified else {}
        return note
