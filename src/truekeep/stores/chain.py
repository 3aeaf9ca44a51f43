"""The audit chain: linking events, checking that none is missing, moved or changed, and replaying what they left.

The time in a keep is that of the machine, but never earlier than what has happened in it: a clock that is set back
would let an older statement outdate a newer one, bring back what has expired and put the log out of order. Until the
machine has caught up, the time goes on from the newest event at its usual pace.

``RowIndex`` says where the rows are that the chain left, by id and by tag, as the rows themselves said when they were
verified. What forbids something is looked up to learn that it is *not* there. A database answers that from its tables
and indexes as they lie on the disk, where whoever holds the file can take a row away or leave it out of an index. So
nothing is looked up there: a row is found here or it is not, and one that is found here and gone from its place was
taken away.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from truekeep.errors import StoreTampered
from truekeep.stores.anchor import AnchorHead
from truekeep.stores.base import TABLES, EventRow
from truekeep.stores.seal import Seal, genesis
from truekeep.types import utc_moment

Expected = dict[str, dict[int, bytes]]
"""For each sealed table, the MAC that the row at each place must have."""

Touched = tuple[str, int, str | None]
"""A row that an event wrote or removed: its table, its place, and its new MAC in hexadecimal or none."""

ROTATED = "keys.rotated"
"""The last event under the old keys: every row was sealed anew, and all that follows is under the next ones."""
RESTATED = "restated"
"""The member of an event that lists the events in which something was erased with it, and what is left of each."""
_RESTATED = f'"{RESTATED}"'
ADOPTED = "anchor.added"
"""The event after which a missing anchor of that name is a loss, and not one that is new in the settings."""
ACCEPT = "Or decide that this state shall count: truekeep audit accept."
_BEGINNING = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Tip:
    """Where the chain stands: the keys in force, its newest link and the sum over the rows it left in force."""

    seal: Seal
    head: AnchorHead = field(default_factory=lambda: AnchorHead(0, genesis()))
    total: int = 0


def follow(tip: Tip, events: Iterable[EventRow], changed: list[Touched] | None = None) -> Tip:
    """Walk the chain on from ``tip``; ``changed``, when given, gets the rows that each event touched."""
    seal, seq, previous, at, state = tip.seal, tip.head.seq, tip.head.hash, tip.head.at, None
    restated = _Restated(tip.head)
    for event in events:
        number, moment, kind, text, left, digest = event
        good = AnchorHead(seq, previous, at)
        if number != seq + 1:
            raise _broken(f"event {seq + 1} is missing or out of order", good)
        try:
            if not hmac.compare_digest(seal.link(previous, event), digest):
                restated.await_vouching(event, good)
            body = json.loads(text) if changed is not None or _RESTATED in text else {}
            if changed is not None:
                changed += [(table, place, mac) for table, place, mac in body.get("rows", ())]
            restated.vouch(seal, body.get(RESTATED, ()))
        except (AttributeError, TypeError, ValueError):
            raise _broken(f"event {number} was altered", good) from None
        seq, previous, at, state = number, digest, moment, left
        if kind == ROTATED:
            seal = seal.successor()
    restated.require_vouched()
    total = tip.total if state is None else seal.unmask(state, seq)
    return Tip(seal, AnchorHead(seq, previous, at), total)


class _Restated:
    """Events that no longer say what was linked. Erasing takes words out of an event; its link stays, and a later event
    vouches for what is left of it. An event for which none does was altered, and so was one that says again what was
    erased in it. Who has no keys can make neither.
    """

    def __init__(self, start: AnchorHead) -> None:
        self._start = start.seq
        self._waiting: dict[int, tuple[EventRow, AnchorHead]] = {}
        self._holds: dict[int, bool] = {}
        """By the newest vouching: one may be vouched for again when more is erased in it."""

    def await_vouching(self, event: EventRow, good: AnchorHead) -> None:
        """Note an event that does not link. Which keys come next is never restated."""
        if event.kind == ROTATED:
            raise _broken(f"event {event.seq} was altered", good)
        self._waiting[event.seq] = event, good

    def vouch(self, seal: Seal, listed: Iterable[tuple[int, str]]) -> None:
        """Take in what an event vouches for; what lies before this walk was looked at in another."""
        for number, mac in listed:
            if number > self._start:
                event = self._waiting.get(number)
                self._holds[number] = event is not None and hmac.compare_digest(seal.restated(event[0]), mac)

    def require_vouched(self) -> None:
        """Refuse what nobody vouched for: here, because whoever vouches comes later than what is vouched for."""
        altered = (self._waiting.keys() - self._holds.keys()) | {one for one, holds in self._holds.items() if not holds}
        if altered:
            first = min(altered)
            raise _broken(f"event {first} was altered", self._waiting[first][1] if first in self._waiting else None)


def is_restating(event: EventRow) -> bool:
    """Whether something was erased in earlier events with this one: what is known of those has to be read again."""
    return _RESTATED in event.body and RESTATED in json.loads(event.body)


def apply(expected: Expected, changed: Iterable[Touched]) -> None:
    """Bring the expectation up to date with what was changed."""
    for table, seq, mac in changed:
        if mac is None:
            expected[table].pop(seq, None)
        else:
            expected[table][seq] = bytes.fromhex(mac)


def nothing_expected() -> Expected:
    """The expectation before the first event."""
    return {table: {} for table in TABLES}


def check_anchor(anchored: AnchorHead | None, event: EventRow | None, newest: AnchorHead, name: str = "keys") -> None:
    """Refuse a store that is behind its anchor or that does not extend it. ``event`` is the one at the anchor."""
    if anchored is None:
        raise StoreTampered(
            "The anchor of this keep is missing, so an old copy of the store could not be told from the real one.",
            code="anchor_missing",
            hint=f"Restore the anchor '{name}'. {ACCEPT}",
            where=f"anchor {name}",
        )
    if anchored.seq == 0:
        return
    if newest.seq < anchored.seq or event is None:
        raise StoreTampered(
            f"The store was rolled back: it ends at event {newest.seq}, but event {anchored.seq} has happened; "
            f"{max(1, anchored.seq - newest.seq)} are missing.",
            code="store_rolled_back",
            hint=f"Put the newest copy of the data directory back. {ACCEPT}",
            where=f"events {newest.seq + 1} to {anchored.seq}",
            since=known_good(newest),
        )
    if not hmac.compare_digest(event.hash, anchored.hash):
        raise StoreTampered(
            f"The store does not continue the history that was anchored at event {anchored.seq}.",
            code="store_diverged",
            hint=f"Put the genuine data directory back. {ACCEPT}",
            where=f"events up to {anchored.seq}",
            since="the two histories part at an unknown event",
        )


def known_good(head: AnchorHead) -> str:
    """The last event known to be good, for people."""
    return f"after event {head.seq} of {head.at}" if head.seq else "no event is known to be good"


def _broken(what: str, good: AnchorHead | None) -> StoreTampered:
    return StoreTampered(
        f"The audit chain is broken: {what}.",
        code="chain_broken",
        hint="Put a good copy of the data directory back. What still verifies is exported by: truekeep audit salvage.",
        where=f"event {good.seq + 1}" if good else "an event in which something was erased",
        since=known_good(good) if good else "nobody can know",
    )


class HasTip(Protocol):
    """Whoever knows where the chain stands."""

    tip: Tip


class KeepClock:
    """Tells the moment when it is called."""

    def __init__(
        self, machine: Callable[[], datetime], chain: HasTip, ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self._machine = machine
        self._chain = chain
        self._ticks = ticks
        self._lock = threading.Lock()
        self._newest, self._newest_at = "", _BEGINNING
        """The time of the newest event, as it is written and as a moment."""
        self._latest = _BEGINNING
        self._since = 0.0
        """When, in ticks, the latest moment was told."""

    def __call__(self) -> datetime:
        """The moment: never earlier than one that was told or written down before."""
        with self._lock:
            moment, ticks, newest = self._machine(), self._ticks(), self._chain.tip.head.at
            if newest != self._newest:
                self._newest, self._newest_at = newest, utc_moment(newest)
            if moment < self._latest:
                moment = self._latest + timedelta(seconds=ticks - self._since)
            self._latest = max(moment, self._newest_at)
            self._since = ticks
            return self._latest


Step = tuple[str, int, str, str | None, str | None]
"""A change that can be taken back: table, place, id, and the tags before and after; none where there was no row."""


class RowIndex:
    """The places of one store's rows. It follows a transaction while it is written, and is taken back with it."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, int]] = {table: {} for table in TABLES}
        self._tags: dict[str, dict[int, str]] = {table: {} for table in TABLES}
        self._tagged: dict[str, dict[str, list[int]]] = {}
        self._steps: list[Step] = []

    def load(self, table: str, ids: dict[str, int], tags: dict[int, str]) -> None:
        """Take over what was read of a whole table: places by id, and tags that are not empty by place."""
        self._ids[table], self._tags[table] = ids, tags
        self._tagged.pop(table, None)

    def place(self, table: str, row_id: str) -> int | None:
        """Where the row of that id is."""
        return self._ids[table].get(row_id)

    def places(self, table: str, tag: str) -> Sequence[int]:
        """Where the rows with that tag are, in order."""
        return self._by_tag(table).get(tag, ())

    def tags_among(self, tables: Sequence[str], tags: Sequence[str]) -> set[str]:
        """Those of the tags under which there are rows in one of the tables."""
        indexes = [self._by_tag(table) for table in tables]
        return {tag for tag in tags if any(index.get(tag) for index in indexes)}

    def put(self, table: str, seq: int, row_id: str, tag: str) -> None:
        """A row is written, or one at that place gets another tag."""
        before = self._tags[table].get(seq, "") if self._ids[table].get(row_id) == seq else None
        self._step(table, seq, row_id, before, tag)

    def remove(self, table: str, seq: int, row_id: str) -> None:
        """A row is taken away."""
        if self._ids[table].get(row_id) == seq:
            self._step(table, seq, row_id, self._tags[table].get(seq, ""), None)

    def forget(self, table: str, seq: int) -> None:
        """Another process changed what is at that place. An id that still points there is told by the row itself."""
        tag = self._tags[table].pop(seq, "")
        if tag and (tagged := self._tagged.get(table)) is not None:
            places = tagged[tag]
            del places[bisect_left(places, seq)]

    def keep(self) -> None:
        """What was done since the last time stays."""
        self._steps.clear()

    def take_back(self) -> None:
        """Undo what was done since the last time, because its transaction is undone."""
        while self._steps:
            table, seq, row_id, before, after = self._steps.pop()
            self._move(table, seq, row_id, after, before)

    def _step(self, table: str, seq: int, row_id: str, before: str | None, after: str | None) -> None:
        self._move(table, seq, row_id, before, after)
        self._steps.append((table, seq, row_id, before, after))

    def _move(self, table: str, seq: int, row_id: str, before: str | None, after: str | None) -> None:
        if after is None:
            del self._ids[table][row_id]
        elif before is None:
            self._ids[table][row_id] = seq
        if (before or "") == (after or ""):
            return
        tagged = self._tagged.get(table)
        if before:
            del self._tags[table][seq]
            if tagged is not None:
                places = tagged[before]
                del places[bisect_left(places, seq)]
        if after:
            self._tags[table][seq] = after
            if tagged is not None:
                insort(tagged.setdefault(after, []), seq)

    def _by_tag(self, table: str) -> dict[str, list[int]]:
        """Turned round when somebody asks: opening a keep pays for what is read anyway, and for no more."""
        found = self._tagged.get(table)
        if found is None:
            found = self._tagged[table] = {}
            for seq, tag in sorted(self._tags[table].items()):
                found.setdefault(tag, []).append(seq)
        return found
