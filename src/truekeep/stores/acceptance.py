"""Acceptance: a person decides that a store counts as it is, although its anchor or its chain misses something.

The chain itself must hold: what it says was there and no longer is gets named in one more event, with who decided and
why, and the anchors begin a new term there. A broken chain cannot be accepted; what still verifies can be salvaged.
"""

from __future__ import annotations

from dataclasses import dataclass

from truekeep.errors import InvalidRequest, StoreTampered
from truekeep.stores.anchor import Anchors, Head
from truekeep.stores.audit import Tip, check_anchor
from truekeep.stores.base import Backend, Row
from truekeep.stores.entry import Entry
from truekeep.stores.inspection import Inspection, inspect_chain, inspect_rows, newest_here, unsound
from truekeep.stores.seal import Seal

ACCEPTED = "store.accepted"
_NAMED = 1_000


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
    even_if_sound: bool = False,
) -> Acceptance:
    """Let the store count as it is. Refused when there is nothing to decide, or when the chain itself is broken.

    ``even_if_sound`` writes the decision down also when nothing is missing: a restore is one whatever it changes.
    """
    with backend.writing():
        tip = inspect_chain(backend, seal, Anchors(()))
        found = inspect_rows(backend, tip)
        problems = _problems(backend, anchors, tip, found)
        newest = anchors.newest()
        seen = Acceptance(problems, tuple(map(str, found.lost)), tip.head.seq, newest.seq if newest else 0)
        if not problems and not even_if_sound:
            raise InvalidRequest("There is nothing to decide: this store is as it should be.", code="nothing_to_accept")
        if dry_run:
            return seen
        head = _write(backend, tip, found, seen, newest, at=at, by=by, reason=reason)
    anchors.restart(head)
    return Acceptance(seen.problems, seen.given_up, seen.ends_at, seen.anchored_at, head.seq)


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
    return tuple(dict.fromkeys(problems))


def _write(
    backend: Backend,
    tip: Tip,
    found: Inspection,
    seen: Acceptance,
    newest: Head | None,
    *,
    at: str,
    by: str,
    reason: str,
) -> Head:
    entry = Entry(backend, tip, found.expected, at)
    for table, seq in found.lost:
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
