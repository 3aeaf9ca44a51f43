"""The audit chain: linking events, checking that none is missing, moved or changed, and replaying what they left."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from truekeep.errors import StoreTampered
from truekeep.stores.anchor import Head
from truekeep.stores.base import TABLES, EventRow
from truekeep.stores.seal import Seal, genesis

Expected = dict[str, dict[int, bytes]]
"""For each sealed table, the MAC that the row at each place must have."""

Touched = tuple[str, int, str | None]
"""A row that an event wrote or removed: its table, its place, and its new MAC in hexadecimal or none."""


ROTATED = "keys.rotated"
"""The last event under the old keys: every row was sealed anew, and all that follows is under the next ones."""


ADOPTED = "anchor.added"
"""The event after which a missing anchor of that name is a loss, and not one that is new in the settings."""


@dataclass(slots=True)
class Tip:
    """Where the chain stands: the keys in force, its newest link and the sum over the rows it left in force."""

    seal: Seal
    head: Head = field(default_factory=lambda: Head(0, genesis()))
    total: int = 0


def follow(tip: Tip, events: Iterable[EventRow], changed: list[Touched] | None = None) -> Tip:
    """Walk the chain on from ``tip``; ``changed``, when given, gets the rows that each event touched."""
    seal, seq, previous, at, state = tip.seal, tip.head.seq, tip.head.hash, tip.head.at, None
    for event in events:
        number, moment, kind, _, left, digest = event
        if number != seq + 1:
            raise _broken(f"event {seq + 1} is missing or out of order", Head(seq, previous, at))
        try:
            holds = hmac.compare_digest(seal.link(previous, event), digest)
        except (TypeError, ValueError):
            holds = False
        if not holds:
            raise _broken(f"event {number} was altered", Head(seq, previous, at))
        seq, previous, at, state = number, digest, moment, left
        if kind == ROTATED:
            seal = seal.successor()
        if changed is not None:
            changed += [(table, place, mac) for table, place, mac in json.loads(event.body).get("rows", ())]
    total = tip.total if state is None else seal.unmask(state, seq)
    return Tip(seal, Head(seq, previous, at), total)


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


def check_anchor(anchored: Head | None, event: EventRow | None, newest: Head, name: str = "keys") -> None:
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
            f"The store was rolled back: it ends at event {newest.seq}, but event {anchored.seq} has happened.",
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


ACCEPT = "Or decide that this state shall count: truekeep audit accept."


def known_good(head: Head) -> str:
    """The last event known to be good, for people."""
    return f"after event {head.seq} of {head.at}" if head.seq else "no event is known to be good"


def _broken(what: str, good: Head) -> StoreTampered:
    return StoreTampered(
        f"The audit chain is broken: {what}.",
        code="chain_broken",
        hint="Put a good copy of the data directory back. What still verifies is exported by: truekeep audit salvage.",
        where=f"event {good.seq + 1}",
        since=known_good(good),
    )
