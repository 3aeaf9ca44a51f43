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


@dataclass(slots=True)
class Tip:
    """Where the chain stands: its newest link and the sum over the rows it left in force."""

    head: Head = field(default_factory=lambda: Head(0, genesis()))
    total: int = 0


def follow(seal: Seal, tip: Tip, events: Iterable[EventRow], changed: list[Touched] | None = None) -> Tip:
    """Walk the chain on from ``tip``; ``changed``, when given, gets the rows that each event touched."""
    seq, previous, state = tip.head.seq, tip.head.hash, None
    for event in events:
        if event.seq != seq + 1:
            raise _broken(f"event {seq + 1} is missing or out of order", seq + 1)
        if not seal.continues(previous, event):
            raise _broken(f"event {event.seq} was altered", event.seq)
        seq, previous, state = event.seq, event.hash, event.state
        if changed is not None:
            changed += [(table, place, mac) for table, place, mac in json.loads(event.body).get("rows", ())]
    total = tip.total if state is None else seal.unmask(state, seq)
    return Tip(Head(seq, previous), total)


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


def check_anchor(anchored: Head | None, event: EventRow | None, newest: int) -> None:
    """Refuse a store that is behind its anchor or that does not extend it. ``event`` is the one at the anchor."""
    if anchored is None:
        raise StoreTampered(
            "The anchor of this keep is missing, so an old copy of the store could not be told from the real one.",
            code="anchor_missing",
            hint="Restore the key directory with the anchor in it.",
        )
    if anchored.seq == 0:
        return
    if newest < anchored.seq or event is None:
        raise StoreTampered(
            f"The store was rolled back: it ends at event {newest}, but event {anchored.seq} has happened.",
            code="store_rolled_back",
            hint="Put the newest copy of the data directory back.",
        )
    if not hmac.compare_digest(event.hash, anchored.hash):
        raise StoreTampered(
            f"The store does not continue the history that was anchored at event {anchored.seq}.",
            code="store_diverged",
            hint="Put the genuine data directory back.",
        )


def _broken(what: str, where: int) -> StoreTampered:
    return StoreTampered(f"The audit chain is broken: {what}. (at event {where})", code="chain_broken")
