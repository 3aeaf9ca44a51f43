"""How far each webhook has been told of each keep: the outbox is the audit log, and this is the place in it.

A place outlives the process. It names the event it stands at by its hash, so that a keep that was restored or made
anew is noticed; what is told then is what came after the time of that event.

Whoever is about to send claims the place first, by a moment before which nobody else sends. A process that dies with a
claim is waited for that long; then somebody else sends the same message again, under the same id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truekeep.stores.book import Readable, book_on
from truekeep.types import utc_moment, utc_text

if TYPE_CHECKING:
    from truekeep.stores.book import Shelf

_KIND = "webhooks"
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 3_600.0
"""Seconds until a receiver that failed is tried again; twice as long after each failure, up to an hour."""
_MOST_DOUBLINGS = 20
"""Two to a higher power only says: longer than the longest pause."""


@dataclass(frozen=True, slots=True)
class WebhookPlace:
    """How far one webhook has been told of one keep, and how that went."""

    since: str
    """The time of the newest event that it stands for; events of that time or before are not told."""
    after: int = 0
    """The number of that event."""
    hash: str = ""
    not_before: str = ""
    """Nobody sends before then: somebody is sending, or the receiver failed."""
    failures: int = 0
    """Attempts in a row that failed for the message that is due."""
    error: str = ""
    """How the newest of them failed."""
    delivered: int = 0
    """Messages that were taken."""
    given_up: int = 0
    """Messages that were never taken and are not tried any more."""
    tampered: str = ""
    """What the receiver was told is wrong with the keep; nothing while all is well."""

    def is_free(self, now: datetime) -> bool:
        """Whether somebody may send."""
        return not self.not_before or utc_moment(self.not_before) <= now

    def failed(self, now: datetime, error: str) -> WebhookPlace:
        """The place after an attempt that failed."""
        pause = min(_FIRST_PAUSE * 2 ** min(self.failures, _MOST_DOUBLINGS), _LONGEST_PAUSE)
        later = utc_text(now + timedelta(seconds=pause))
        return replace(self, failures=self.failures + 1, error=error, not_before=later)

    def passed(self, error: str) -> WebhookPlace:
        """The place after a message that was taken; with an error, after one that is given up."""
        delivered, given_up = self.delivered + (not error), self.given_up + bool(error)
        return replace(self, failures=0, error=error, delivered=delivered, given_up=given_up)


Found = Mapping[str, WebhookPlace]
"""The places of one keep, by webhook."""


class WebhookPlaces:
    """The places of all keeps of a home, a small book for each keep, and when each webhook was first seen."""

    def __init__(self, shelf: Shelf, clock: Callable[[], datetime]) -> None:
        self._shelf = shelf / _KIND if isinstance(shelf, Path) else shelf
        self._clock = clock
        self._books: dict[str, Readable[Found]] = {}
        self._seen = book_on(self._shelf, f"{_KIND}.seen", _seen_from)

    def of(self, keep: str) -> Found:
        """The places in that keep's log."""
        return self._book(keep).current()

    def first_seen(self, hook: str) -> str:
        """Since when that webhook is known: what happened before is not told."""
        known = self._seen.current()
        if hook in known:
            return known[hook]
        with self._seen.changing() as known:
            at = known.get(hook) or utc_text(self._clock())
            if hook not in known:
                self._seen.write({"seen": {**known, hook: at}})
        return at

    def change(self, keep: str, hook: str, seen: WebhookPlace | None, place: WebhookPlace) -> bool:
        """Put a place where ``seen`` was; not if somebody else was quicker."""
        book = self._book(keep)
        with book.changing() as found:
            if found.get(hook) != seen:
                return False
            places = {**found, hook: place}
            book.write({"places": {name: asdict(one) for name, one in places.items()}})
        return True

    def _book(self, keep: str) -> Readable[Found]:
        if keep not in self._books:
            self._books[keep] = book_on(self._shelf, f"{_KIND}.of.{keep}", _places_from)
        return self._books[keep]


def _places_from(members: Mapping[str, Any]) -> Found:
    return {name: WebhookPlace(**one) for name, one in members.get("places", {}).items()}


def _seen_from(members: Mapping[str, Any]) -> dict[str, str]:
    return dict(members.get("seen", {}))
