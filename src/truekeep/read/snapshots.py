"""Snapshots: the frozen text a session's prompt gets, the same bytes for every reader until it is refreshed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from truekeep import fence
from truekeep.config import Settings
from truekeep.errors import StoreTampered
from truekeep.exposures import Exposures
from truekeep.influence import Reader as ForWhom
from truekeep.reading import Reader, Shown, is_hearsay
from truekeep.screens.panel import Screening
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_from, snapshot_body, snapshot_from
from truekeep.types import Snapshot


class Snapshots:
    """Freezes and serves the snapshots of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        reader: Reader,
        panel: Screening,
        exposures: Exposures,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._reader = reader
        self._panel = panel
        self._exposures = exposures
        self._settings = settings
        self._clock = clock

    def of(self, session: str, whom: ForWhom, *, refresh: bool = False) -> Snapshot:
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
            shown = self._chosen(whom)
            snapshot, ids = self._build(session, shown), [one.memory.id for one in shown]
            if sealed is None:
                entry.put("snapshots", session, snapshot_body(snapshot, ids))
            else:
                entry.replace("snapshots", sealed.row, snapshot_body(snapshot, ids))
            entry.event("snapshot.frozen", session=session, digest=snapshot.digest, memories=len(ids))
            self._exposures.show(session, [one.memory for one in shown if not one.blocked], "snapshot", entry)
        return snapshot

    def _stored(self, sealed: Sealed) -> Snapshot:
        if not sealed.verified:
            raise _altered("The stored snapshot of this session was altered.")
        snapshot, ids = snapshot_from(sealed)
        return replace(snapshot, stale=self._is_stale(snapshot, ids))

    def _build(self, session: str, shown: list[Shown]) -> Snapshot:
        lines = [fence.line(one.text, as_of=one.memory.as_of, origin=one.origin, may_act=one.may_act) for one in shown]
        text = fence.fenced(lines)
        digest = hashlib.sha256(f"{self._panel.digest}\n{text}".encode()).hexdigest()
        hearsay = any(is_hearsay(one.memory) and not one.blocked for one in shown)
        return Snapshot(session, text, digest, self._panel.digest, self._clock(), shows_hearsay=hearsay)

    def _chosen(self, whom: ForWhom) -> list[Shown]:
        """What fits into a snapshot: what may act first, so that nothing else can push it out."""
        listed = self._reader.listed(whom=whom)
        cap = self._settings.snapshot_cap
        acting = [shown for shown in listed if shown.may_act][-cap:]
        others = [shown for shown in listed if not shown.may_act]
        room = cap - len(acting)
        kept = {shown.memory.seq for shown in [*acting, *(others[-room:] if room else [])]}
        return [shown for shown in listed if shown.memory.seq in kept]

    def _is_stale(self, snapshot: Snapshot, ids: list[str]) -> bool:
        """Whether the rules now in force would block something that the snapshot shows."""
        if snapshot.ruleset == self._panel.digest:
            return False
        found = (self._ledger.get("memories", memory_id) for memory_id in ids)
        for memory in (memory_from(sealed) for sealed in found if sealed):
            blocked = self._reader.block_reason(memory)
            if blocked and fence.placeholder(blocked, memory.id) not in snapshot.text:
                return True
        return False


def _altered(what: str) -> StoreTampered:
    return StoreTampered(what, code="snapshot_unverified", hint="Build a new one with snapshot(refresh=True).")
