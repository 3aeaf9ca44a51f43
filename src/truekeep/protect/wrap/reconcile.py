"""Reconcile: what the store has and the sidecar does not, the reverse, what differs, and what was left half done.

A dry run only tells. Applied, what was begun is finished (the gate is asked under the same name, so that nothing is
remembered twice), approved writes reach the store, unknown and changed entries are taken in as hearsay, and rows of
entries that are gone are dropped. Taking in and dropping can be taken back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from truekeep.errors import TruekeepError
from truekeep.protect.wrap.sidecar import GivenEntry, Sidecar
from truekeep.protect.wrap.values import words_of
from truekeep.read.entries import EntryRow, PendingWrite, Place, settled
from truekeep.types import Decision

_log = logging.getLogger("truekeep.protect")


class Reconcilable(Protocol):
    """What a wrapped store offers beside its own interface."""

    sidecar: Sidecar

    def entries(self) -> Iterator[GivenEntry]:
        """Everything that the store has, as it is."""

    def current(self, namespace: tuple[str, ...], key: str) -> Any:
        """The value at a place as it is, or none."""

    def finish(self, one: GivenEntry) -> None:
        """Give the store an entry."""

    def take_out(self, namespace: tuple[str, ...], key: str) -> None:
        """Take an entry out of the store."""


@dataclass(slots=True)
class Reconciliation:
    """What was found, by place; ``undo`` takes what was taken in and dropped back."""

    store: str
    applied: bool
    unknown: list[Place] = field(default_factory=list)
    """The store has it, the sidecar does not."""
    changed: list[Place] = field(default_factory=list)
    """Both have it, and it is not what was written through us."""
    gone: list[Place] = field(default_factory=list)
    """The sidecar has it, the store does not."""
    half_done: list[Place] = field(default_factory=list)
    approved: list[Place] = field(default_factory=list)
    """Held until a person approved it; the store gets it now."""
    rejected: list[Place] = field(default_factory=list)
    """Held until a person rejected it, or it expired; the store never gets it."""
    waiting: list[Place] = field(default_factory=list)
    refused: list[Place] = field(default_factory=list)
    """The store did not take what was half done or approved; it is tried again next time."""
    undo: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The findings as JSON members; keys are those of the store."""
        kinds = ("unknown", "changed", "gone", "half_done", "approved", "rejected", "waiting", "refused")
        places = {kind: [[*one.namespace, one.key] for one in getattr(self, kind)] for kind in kinds}
        return {"store": self.store, "applied": self.applied, "undo": self.undo, **places}


def reconcile(wrapped: Reconcilable, *, apply: bool = False) -> Reconciliation:
    """Compare a store with its sidecar; with ``apply`` finish, take in and drop."""
    sidecar = wrapped.sidecar
    found = Reconciliation(sidecar.store, apply)
    for row in sidecar.keep.entries.all(sidecar.store):
        if row.pending is not None:
            _finish_if_taken(wrapped, row, found)
    entries = sidecar.keep.entries
    rows = {row.place: row for row in entries.all(sidecar.store)}
    taken: list[EntryRow] = []
    seen: set[Place] = set()
    for one in wrapped.entries():
        place = Place(sidecar.store, one.namespace, one.key)
        seen.add(place)
        digest, known = entries.digest(one.value), rows.get(place)
        if known is not None and (known.pending is not None or known.digest == digest):
            continue
        (found.unknown if known is None else found.changed).append(place)
        if apply:
            taken.append(_taken_in(sidecar, place, one, digest))
    dead = [row for place, row in rows.items() if place not in seen and row.pending is None]
    found.gone += [row.place for row in dead]
    if apply and (taken or dead):
        before = [rows[row.place] for row in taken if row.place in rows]
        found.undo = entries.reconciled(sidecar.store, taken, [*dead, *before])
    return found


def undo(sidecar: Sidecar, name: str) -> int:
    """Take a reconciliation back: dropped rows return, and what was taken in is unknown again. Gives how many."""
    taken, dropped = sidecar.keep.entries.undo(name)
    return len(taken) + len(dropped)


def _taken_in(sidecar: Sidecar, place: Place, one: GivenEntry, digest: str) -> EntryRow:
    """A row for an entry that nobody wrote through us: through the gate, as something that was merely read."""
    # The request is the content's: taken in, taken back and taken in again it is one memory.
    pending = PendingWrite(digest, None, None, words_of(one.value), "import", None, f"take-in {digest}")
    verdict = sidecar.judged([EntryRow(place, pending=pending)]).get(place)
    return EntryRow(place, digest, verdict.memory_id if verdict is not None else None)


def _finish_if_taken(wrapped: Reconcilable, row: EntryRow, found: Reconciliation) -> None:
    """One entry that the store refuses must not keep the others from being compared."""
    try:
        _finish(wrapped, row, found)
    except TruekeepError:
        raise  # the keep's own fault, and no entry's
    except Exception:
        _log.warning("A store refused to finish an entry.", exc_info=True)
        found.refused.append(row.place)


def _finish(wrapped: Reconcilable, row: EntryRow, found: Reconciliation) -> None:
    pending = row.pending
    if pending is None:
        return
    if not pending.digest:
        found.half_done.append(row.place)
        if found.applied:
            wrapped.take_out(row.place.namespace, row.place.key)
            wrapped.sidecar.keep.entries.put((), [row.place])
    elif pending.item is not None:
        _decided(wrapped, row, pending, found)
    else:
        found.half_done.append(row.place)
        if found.applied:
            _resume(wrapped, row)


def _decided(wrapped: Reconcilable, row: EntryRow, pending: PendingWrite, found: Reconciliation) -> None:
    state, memory = wrapped.sidecar.keep.entries.decided(pending.item or "")
    if state == "open":
        found.waiting.append(row.place)
    elif state == "approved" and memory is not None and memory.text == pending.text:
        found.approved.append(row.place)
        if found.applied:
            _complete(wrapped, row, memory.id)
    else:  # rejected, expired, or approved in other words than those the program wrote
        found.rejected.append(row.place)
        if found.applied:
            _abandon(wrapped, row)


def _resume(wrapped: Reconcilable, row: EntryRow) -> None:
    """Go on where a crash stopped: the gate answers as it did, if it was asked."""
    verdict = wrapped.sidecar.judged([row]).get(row.place)
    if verdict is None or verdict.decision is Decision.ACCEPT:
        _complete(wrapped, row, verdict.memory_id if verdict is not None else None)
    elif verdict.decision is Decision.QUARANTINE and row.pending is not None:
        held = replace(row, pending=replace(row.pending, item=verdict.item_id))
        wrapped.sidecar.keep.entries.put([held])
    else:
        _abandon(wrapped, row)


def _complete(wrapped: Reconcilable, row: EntryRow, memory: str | None) -> None:
    pending, place, entries = row.pending, row.place, wrapped.sidecar.keep.entries
    if pending is None:
        return
    current = wrapped.current(place.namespace, place.key)
    if current is None or entries.digest(current) != pending.digest:
        wrapped.finish(GivenEntry(place.namespace, place.key, pending.value, pending.extra))
    entries.put([settled(row, memory)])


def _abandon(wrapped: Reconcilable, row: EntryRow) -> None:
    entries = wrapped.sidecar.keep.entries
    if row.digest:
        entries.put([replace(row, pending=None)])
    else:
        entries.put((), [row.place])
