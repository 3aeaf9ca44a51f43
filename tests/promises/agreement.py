"""What an operation of the shared life insists on: the same answer on both sides, from an agent on the same footing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Protocol

from tests.promises.record import Outcome, PromiseBroken
from tests.promises.twins import ItemPair, Twins
from truekeep.sessions.passages import around, passages


class Operation(Protocol):
    """Something to do to both keeps."""

    def run(self, twins: Twins) -> None: ...


def same(outcomes: tuple[Outcome, Outcome], what: Any) -> None:
    """Insist that hearsay did not change an answer."""
    plain, laden = outcomes
    if plain.code != laden.code:
        raise PromiseBroken(f"P2: {what} is answered {plain.code!r} without hearsay, {laden.code!r} with it")


def same_footing(twins: Twins, session: str | None, quote: str | None, text: str) -> bool:
    """Whether the agent's words are the same operation on both sides.

    An agent whose session took in extra hearsay is part of the hearsay from then on, so that what it writes there is
    hearsay, too, and happens on the laden side alone. What the owner can be quoted for is theirs on both.
    """
    if session is None:
        return True
    if quote is not None and session not in twins.echoed and _is_the_owners(twins, session, quote):
        return True
    plain, laden = (side.keep._sessions.state(session).is_clean for side in twins.sides)
    if laden and not plain:
        raise PromiseBroken(f"P3: hearsay cleans the session {session}")
    return plain == laden and not (quote is not None and session in twins.echoed)


def _is_the_owners(twins: Twins, session: str, quote: str) -> bool:
    said = (passages(seen.text, seen.own, 1_200) for seen in twins.plain.keep._sessions.owners(session))
    return any(around(quote, one) is not None for one in said)


def pick_item(twins: Twins, which: int) -> ItemPair | None:
    """One of the items that both sides have."""
    return twins.items[which % len(twins.items)] if twins.items else None


def later(twins: Twins, days: int | None) -> datetime | None:
    """A moment some days from now, if any."""
    return None if days is None else twins.now + timedelta(days=days)
