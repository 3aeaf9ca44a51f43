"""Acceptance: a person decides that a store counts as it is, although its anchor or its chain misses something.

The chain itself must hold: what it says was there and no longer is gets named in one more event, with who decided and
why, and the anchors begin a new term there. A broken chain cannot be accepted; what still verifies can be salvaged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from truekeep.errors import InvalidRequest, StoreTampered
from truekeep.stores.anchor import AnchorHead, Anchors
from truekeep.stores.base import Backend, Row
from truekeep.stores.chain import Tip, check_anchor
from truekeep.stores.entry import Entry
from truekeep.stores.inspection import (
    Inspection,
    inspect_chain,
    inspect_rows,
    newest_here,
    require_newest_keys,
    unsound,
)

if TYPE_CHECKING:
    from truekeep.stores.seal import Seal

ACCEPTED = "store.accepted"
_NAMED = 1_000
"""Rows that are named in the event; all are counted."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a person took into account."""

    problems: tuple[str, ...]
    """What was wrong, as the refusals said it."""
    given_up: tuple[str, ...]
    """Rows that are gone for good."""
    ends_at: int
    """The newest event of the store as it was found."""
    anchored_at: int
    """The newest event that is known to have happened."""
    event: int | None = None
    """The event in which the decision is written down; none for a look without a decision."""


def accept(
    backend: Backend,
    seal: Seal,
    anchors: Anchors,
    *,
    at: str,
    by: str,
    reason: str,
    dry_run: bool = False,
) -> Acceptance:
    """Let the store count as it is. Refused when there is nothing to decide, or when the chain itself is broken."""
    try:
        with backend.writing():
            mended = [f"The database's schema was altered: {fault}." for fault in backend.mend()]
            tip = inspect_chain(backend, seal)
            require_newest_keys(tip)
            found = inspect_rows(backend, tip)
            problems = (*mended, *_problems(backend, anchors, tip, found))
            newest = anchors.newest()
            seen = Acceptance(problems, tuple(map(str, found.unknowable)), tip.head.seq, newest.seq if newest else 0)
            if not problems:
                raise InvalidRequest(
                    "There is nothing to decide: this store is as it should be.", code="nothing_to_accept"
                )
            if dry_run:
                raise _OnlyLooked(seen)
            head = _write(backend, tip, found, seen, newest, at=at, by=by, reason=reason)
    except _OnlyLooked as looked:
        return looked.seen
    anchors.restart(head)
    return replace(seen, event=head.seq)


def accept_copy(
    backend: Backend,
    seal: Seal,
    anchors: Anchors,
    head: AnchorHead,
    doubts: tuple[str, ...],
    *,
    at: str,
    by: str,
    reason: str,
) -> Acceptance:
    """Let a copy that was put in the store's place count: a decision whatever it changes.

    It must still be what was verified before it was put there: it ends at ``head``, and every row is the chain's.
    """
    with backend.writing():
        tip = inspect_chain(backend, seal)
        found = inspect_rows(backend, tip, one_by_one=True)
        if tip.head != head or found.lost or found.unverified:
            raise copy_tampered()
        newest = anchors.newest()
        problems = (*doubts, *_problems(backend, anchors, tip, found))
        seen = Acceptance(problems, (), tip.head.seq, newest.seq if newest else 0)
        written = _write(backend, tip, found, seen, newest, at=at, by=by, reason=reason)
    anchors.restart(written)
    return replace(seen, event=written.seq)


def copy_tampered() -> StoreTampered:
    """The refusal of a copy in which something is not as it was written."""
    return StoreTampered("The copy is not as this keep wrote it.", code="copy_tampered", hint="Use another one.")


class _OnlyLooked(Exception):
    """Takes back what a look without a decision had to mend in order to see."""

    def __init__(self, seen: Acceptance) -> None:
        self.seen = seen


def _problems(backend: Backend, anchors: Anchors, tip: Tip, found: Inspection) -> tuple[str, ...]:
    problems = []
    for anchor in anchors.all:
        anchored = anchor.read()
        try:
            event = backend.event(anchored.seq) if anchored else None
            check_anchor(anchored, event, newest_here(backend), anchor.name)
        except StoreTampered as error:
            problems.append(str(error))
    try:
        found.require_nothing_lost(tip.head)
    except StoreTampered as error:
        problems.append(str(error))
    problems += [f"{place} was altered." for place in found.unknowable if place not in found.lost]
    problems += [f"The index of {table} does not list what is in it." for table in unsound(backend)]
    return tuple(dict.fromkeys(problems))


def _write(
    backend: Backend,
    tip: Tip,
    found: Inspection,
    seen: Acceptance,
    newest: AnchorHead | None,
    *,
    at: str,
    by: str,
    reason: str,
) -> AnchorHead:
    entry = Entry(backend, tip, found.expected, at)
    for table, seq in found.unknowable:
        entry.remove(table, Row(seq, "", "", "", b""))
    for table in unsound(backend):
        backend.rebuild_index(table)
    entry.event(
        ACCEPTED,
        by=by,
        reason=reason,
        problems=list(seen.problems),
        given_up=list(seen.given_up[:_NAMED]),
        given_up_count=len(seen.given_up),
        ended_at=seen.ends_at,
        anchored_at=seen.anchored_at,
        anchored_hash=newest.hash.hex() if newest else "",
    )
    entry.finish()
    return entry.tip.head
