"""Browsing: memories page by page for a person who looks for some of them, and the versions of one memory.

The origin index says which to look at, and the reader what each says and may do. A page looks at a bounded number, so
that what is rare is found over several pages instead of one slow one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, UnknownId
from truekeep.stores.records import memory_from
from truekeep.trust.origin import is_hearsay
from truekeep.types import Memory, Standing

if TYPE_CHECKING:
    from truekeep.read.reader import RecordReader, Shown
    from truekeep.records.origin_index import OriginIndex
    from truekeep.records.rows import Version, Versions
    from truekeep.stores.ledger import Ledger
    from truekeep.trust.influence import Reader

CURRENT, BLOCKED, OVER, ALL = STATES = ("current", "blocked", "over", "all")
"""What is in force; what a rule blocks or this keep did not write; what expired or was replaced; everything."""
_MOST_LOOKED_AT, _MOST_ON_A_PAGE, _PORTION = 80, 80, 40


@dataclass(frozen=True, slots=True)
class Sought:
    """What a person looks for; all that is given has to match."""

    standing: Standing | None = None
    may_act: bool | None = None
    state: str = CURRENT
    channel: str | None = None
    principal: str | None = None
    session: str | None = None

    def names(self, memory: Memory) -> bool:
        """Whether what was named of its origin is the memory's."""
        origin = memory.origin
        return (
            (self.standing is None or memory.standing is self.standing)
            and (self.channel is None or origin.channel == self.channel)
            and (self.principal is None or origin.principal == self.principal)
            and (self.session is None or origin.session == self.session)
        )

    def admits(self, shown: Shown, now: datetime) -> bool:
        """Whether the memory, as it may be shown, is sought."""
        if self.may_act is not None and shown.may_act is not self.may_act:
            return False
        is_over = shown.is_over(now)
        return {CURRENT: not is_over, BLOCKED: shown.blocked, OVER: is_over, ALL: True}[self.state]


@dataclass(frozen=True, slots=True)
class Listing:
    """Some memories, newest first, and where those before them begin."""

    entries: tuple[dict[str, Any], ...]
    """As ``Keep.get_memories`` lists them, and ``over``: whether it is history."""
    before: int | None
    """What to ask for older ones with; none if there is nothing more to look at."""
    left: int
    """How many older ones there are to look at; not all of them need be what is sought."""


class Browser:
    """Lists the memories of one keep for people."""

    def __init__(
        self, ledger: Ledger, origin_index: OriginIndex, reader: RecordReader, clock: Callable[[], datetime]
    ) -> None:
        self._ledger = ledger
        self._origin_index = origin_index
        self._reader = reader
        self._clock = clock

    def listing(self, sought: Sought, *, before: int | None, limit: int) -> Listing:
        """The newest that are sought, at most ``limit``, older than ``before``."""
        if sought.state not in STATES:
            raise InvalidRequest("No such state of a memory.", hint=f"States: {', '.join(STATES)}.")
        if not 1 <= limit <= _MOST_ON_A_PAGE:
            raise InvalidRequest(f"A page has from 1 to {_MOST_ON_A_PAGE:,} memories.", code="invalid_limit")
        with self._ledger.reading():
            now, places = self._clock(), self._places(sought, before)
            entries: list[dict[str, Any]] = []
            looked = 0
            for shown in self._shown(places[:_MOST_LOOKED_AT], now):
                looked += 1
                if sought.admits(shown, now):
                    entries.append(shown.as_dict() | {"over": shown.is_over(now)})
                    if len(entries) >= limit:
                        break
        left = len(places) - looked
        return Listing(tuple(entries), places[looked - 1] if left else None, left)

    def _places(self, sought: Sought, before: int | None) -> list[int]:
        """Where to look, newest first; only where there could be something."""
        now = self._clock()
        digest = self._reader.digest
        found = [
            place
            for place, memory in self._origin_index.memories().items()
            if (before is None or place < before)
            and sought.names(memory)
            and (sought.state != BLOCKED or memory.screened != digest)
            and (sought.state != OVER or self._reader.may_be_over(memory, now))
            and (sought.may_act is not True or not is_hearsay(memory))
        ]
        if sought.may_act is not True and sought.standing in (None, Standing.HEARSAY) and not _names_an_origin(sought):
            found += [place for place in self._ledger.strangers("memories") if before is None or place < before]
        return sorted(found, reverse=True)

    def _shown(self, places: Sequence[int], now: datetime) -> Iterator[Shown]:
        for start in range(0, len(places), _PORTION):
            portion = places[start : start + _PORTION]
            rows = self._ledger.at("memories", portion)
            for place in portion:
                if place in rows:
                    yield self._reader.shown(memory_from(rows[place]), now)


def _names_an_origin(sought: Sought) -> bool:
    """Whether only something of a known origin is sought; a row that nobody wrote has none."""
    return any(given is not None for given in (sought.channel, sought.principal, sought.session))


class History:
    """Shows what the memories of one keep were."""

    def __init__(self, ledger: Ledger, reader: RecordReader, versions: Versions) -> None:
        self._ledger = ledger
        self._reader = reader
        self._versions = versions

    def of(self, memory_id: str) -> list[dict[str, Any]]:
        """The versions of one memory, oldest first, the present one last; what was deleted has only earlier ones."""
        versions = self._versions.versions(memory_id) if isinstance(memory_id, str) else []
        earlier = [self._earlier(version).as_dict() | {"retired": version.why} for version in versions]
        found = self._ledger.find_memory(memory_id) if isinstance(memory_id, str) else None
        if found is None and not earlier:
            raise UnknownId("No such memory in this keep, and there never was.")
        return earlier + ([self._reader.shown(memory_from(found)).as_dict() | {"retired": None}] if found else [])

    def listed(self, moment: datetime, *, after: int, limit: int | None, whom: Reader) -> list[Shown]:
        """What held at a moment, in the order in which it was stored, also what was replaced or changed since."""
        still = self._reader.listed(after=after, limit=limit, whom=whom, as_of=moment)
        earlier = map(self._earlier, self._versions.changed())
        then = [shown for shown in earlier if shown.memory.seq > after and shown.held_at(moment)]
        return sorted([*still, *then], key=lambda shown: shown.memory.seq)[:limit]

    def _earlier(self, version: Version) -> Shown:
        return self._reader.earlier(version.memory, version.until)
