"""Snapshots: the frozen text a session's prompt gets, the same bytes for every reader until it is refreshed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from truekeep.claims.corrected import Corrected
from truekeep.errors import StoreTampered
from truekeep.read.reader import RecordReader, Shown
from truekeep.records.marks import PLAIN
from truekeep.records.repeats import Words, said_as
from truekeep.records.rows import version_in
from truekeep.search import STANDING_WISHES
from truekeep.stores.records import memory_from, snapshot_body, snapshot_from
from truekeep.trust import fence
from truekeep.types import Snapshot

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.read.exposures import Exposures
    from truekeep.records.marks import CardMark, Marks
    from truekeep.screens.panel import Screening
    from truekeep.stores.ledger import Ledger, Sealed
    from truekeep.trust.influence import Reader


_PAGE = 128
"""Memories that are read at a time: a snapshot holds about as many lines."""
_MOST_ALTERED = 20
"""Placeholders of altered records; one is enough to say that something is wrong."""


class Snapshots:
    """Freezes and serves the snapshots of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        reader: RecordReader,
        panel: Screening,
        exposures: Exposures,
        settings: Settings,
        clock: Callable[[], datetime],
        marks: Marks,
    ) -> None:
        self._ledger = ledger
        self._reader = reader
        self._panel = panel
        self._exposures = exposures
        self._settings = settings
        self._clock = clock
        self._marks = marks
        self._corrected = Corrected(ledger)

    def of(self, session: str, whom: Reader, *, refresh: bool = False) -> Snapshot:
        """The session's snapshot; made when there is none yet, made anew only on request."""
        sealed = self._ledger.get("snapshots", session)
        if sealed is not None and not refresh:
            return self._stored(sealed)
        if sealed is None and not refresh and self._ledger.has_altered("snapshots"):
            raise _altered("A stored snapshot was altered, and it may have been this session's.")
        # Built and stored in one transaction: of two first readers, both get the bytes of the first.
        with self._ledger.writing() as entry:
            sealed = self._ledger.get("snapshots", session)
            if sealed is not None and not refresh:
                return self._stored(sealed)
            shown, left_out = self._chosen(whom)
            snapshot, ids = self._build(session, shown, left_out), [one.memory.id for one in shown]
            entry.set("snapshots", session, snapshot_body(snapshot, ids))
            entry.event("snapshot.frozen", session=session, digest=snapshot.digest, memories=len(ids))
            self._exposures.show(session, [one.memory for one in shown if not one.blocked], "snapshot", entry)
        return snapshot

    def _stored(self, sealed: Sealed) -> Snapshot:
        if not sealed.verified:
            raise _altered("The stored snapshot of this session was altered.")
        snapshot, ids = snapshot_from(sealed)
        return replace(snapshot, stale=self._is_stale(snapshot, ids))

    def _build(self, session: str, shown: list[Shown], left_out: int) -> Snapshot:
        lines = list(map(self._line, shown))
        if left_out:
            lines.append(f"({left_out} more can be found with recall)")
        text = fence.fenced(lines)
        digest = hashlib.sha256(f"{self._panel.digest}\n{text}".encode()).hexdigest()
        return Snapshot(session, text, digest, self._panel.digest, self._clock())

    def _chosen(self, whom: Reader) -> tuple[list[Shown], int]:
        """What a snapshot holds, the most useful first while it fits, and how many more there are.

        Only what may act and clean notes are in question, so that hearsay neither takes room nor changes the order; of
        altered records their placeholders are.
        """
        now, panel = self._clock(), self._panel.current()
        room, chosen, said, looked_at = self._settings.snapshot_chars, list[Shown](), set[Words](), 0
        marks = self._marks.now()
        ranked = self._ranked(marks)
        while page := list(islice(ranked, _PAGE)):
            rows = self._ledger.at("memories", page)
            for place in page:
                looked_at += 1
                sealed = rows.get(place)
                shown = self._reader.shown(memory_from(sealed), now, panel, whom) if sealed is not None else None
                if shown is None or not _is_shown(shown, now) or said_as(shown.memory) in said:
                    continue
                room -= len(self._line(shown)) + 1
                if room < 0:
                    return [*self._altered(now), *chosen], len(marks) - looked_at + 1
                said.add(said_as(shown.memory))
                chosen.append(shown)
        return [*self._altered(now), *chosen], 0

    def _ranked(self, marks: Mapping[int, CardMark]) -> Iterator[int]:
        """The places of what is above hearsay, the most useful first; told by index cards, without reading a text.

        Only what stands out is sorted: of the rest the newest comes first.
        """
        rows = ((self._ledger.get("memories", name), served) for name, served in self._reader.served().items())
        credit = {sealed.row.seq: served for sealed, served in rows if sealed is not None}

        def useful(place: int) -> tuple[bool, bool, int, int]:
            return _usefulness(place, marks[place], credit.get(place, 0))

        plain = {place for place, mark in marks.items() if mark is PLAIN} - credit.keys()
        return merge(sorted(marks.keys() - plain, key=useful), sorted(plain, reverse=True), key=useful)

    def _line(self, one: Shown) -> str:
        older = self._corrected.is_older(one.memory)
        return fence.line(one.text, as_of=one.memory.as_of, origin=one.origin, may_act=one.may_act, older=older)

    def _altered(self, now: datetime) -> list[Shown]:
        """Records that this keep did not write as they are now: a session is told that something is wrong."""
        strangers = self._ledger.strangers("memories")[:_MOST_ALTERED]
        found = map(memory_from, self._ledger.at("memories", strangers).values()) if strangers else ()
        return [self._reader.shown(memory, now) for memory in found if not memory.verified]

    def _is_stale(self, snapshot: Snapshot, ids: list[str]) -> bool:
        """Whether something that the snapshot shows was taken out since, or would be blocked by the rules in force."""
        if any(not self._ledger.has("memories", memory_id) and not self._lives_on(memory_id) for memory_id in ids):
            return True
        if snapshot.ruleset == self._panel.digest:
            return False
        found = (self._ledger.get("memories", memory_id) for memory_id in ids)
        for memory in (memory_from(sealed) for sealed in found if sealed):
            blocked = self._reader.block_reason(memory)
            if blocked and fence.placeholder(blocked, memory.id) not in snapshot.text:
                return True
        return False

    def _lives_on(self, memory_id: str) -> bool:
        """Whether a memory became part of another, which says the same."""
        kept = map(version_in, self._ledger.tagged("history", memory_id, limit=1, newest=True))
        return any(version is not None and version.into is not None for version in kept)


def _usefulness(place: int, mark: CardMark, served: int) -> tuple[bool, bool, int, int]:
    """Pinned first, then standing wishes, then what was said again and served well most, then the newest.

    How often a memory was recalled does not count: who asks for what is anybody's to steer.
    """
    return not mark.pinned, mark.essential not in STANDING_WISHES, -mark.said - served, -place


def _is_shown(shown: Shown, now: datetime) -> bool:
    return (shown.may_act or shown.is_note or shown.blocked) and not shown.is_over(now)


def _altered(what: str) -> StoreTampered:
    return StoreTampered(what, code="snapshot_unverified", hint="Build a new one with snapshot(refresh=True).")
