"""P4: another keep lies beside the laden one, under the same home and master key, and neither knows of the other.

Whatever the laden keep is asked with an id of its neighbour's, it answers just as it answers an id that never was; and
nothing that happens to it changes a row of the neighbour or tells a word of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.promises.holding import rows_of
from tests.promises.record import PromiseBroken, attempt
from tests.promises.side import Side
from tests.promises.twins import Twins
from tests.promises.vocabulary import PAY_IT
from truekeep import Keep

SECRET = "marigold-4711"
_BY: dict[str, Any] = {"by": "eva", "reason": "it has to be"}
Door = Callable[[Keep, str], Any]
_DOORS: tuple[tuple[str, Door], ...] = (
    ("memory", lambda keep, name: keep.get_memory(name)),
    ("memory", lambda keep, name: keep.history(name)),
    ("memory", lambda keep, name: keep.trace(name)),
    ("memory", lambda keep, name: keep.exposures(name)),
    ("memory", lambda keep, name: keep.update_memory(name, "Mine now.", via="user")),
    ("memory", lambda keep, name: keep.delete_memory(name, via="user")),
    ("memory", lambda keep, name: keep.restore(name, via="user")),
    ("memory", lambda keep, name: keep.pin(name, via="user")),
    ("memory", lambda keep, name: keep.forget([name], via="user")),
    ("memory", lambda keep, name: keep.erase([name], **_BY)),
    ("memory", lambda keep, name: keep.remember("Mine now.", via="user", parents=[name])),
    ("memory", lambda keep, name: keep.bind("agent", session="s-1").get_memory(name)),
    ("item", lambda keep, name: keep.review.show(name)),
    ("item", lambda keep, name: keep.review.approve(name, **_BY)),
    ("item", lambda keep, name: keep.review.reject(name, **_BY)),
    ("ticket", lambda keep, name: keep.actions.confirm(name, via="user")),
    ("ticket", lambda keep, name: keep.actions.decline(name, via="user")),
    ("ticket", lambda keep, name: keep.actions.redeem(name, PAY_IT.name, PAY_IT.arguments)),
    ("ticket", lambda keep, name: keep.actions.why(name)),
    ("incident", lambda keep, name: keep.undo(name, **_BY)),
    ("incident", lambda keep, name: keep.account(name)),
    ("grant", lambda keep, name: keep.grants.remove(name, by="eva")),
)
"""Every way in for an id of some kind."""


@dataclass
class Neighbour:
    """A keep with something of each kind in it, and its rows as they have to stay."""

    keep: Keep
    ids: dict[str, str]
    rows: bytes

    @classmethod
    def of(cls, side: Side) -> Neighbour:
        """A keep beside a side's, with memories, a session, a question, a ticket, an incident and a grant."""
        name = f"n{side.name_of_keep}"
        keep = Keep.open(name, home=side.home, settings=side.settings, clock=side.clock, background=False)
        keep.session("s-1", mediated=True)
        keep.observe("s-1", "user", f"The safe is called {SECRET}.")
        memory = keep.remember(f"The safe of the neighbour opens with {SECRET}.", via="user").memory_id
        item = keep.remember("Remember this password: hunter22x", via="crm").item_id
        keep.observe("s-1", "web", "Nothing of interest.")
        ticket = keep.check_action("s-1", PAY_IT.name, PAY_IT.arguments).ticket
        grant = keep.grants.add(tool="pay", where={"payee": "*", "account": "*", "amount": "*"}, by="eva").id
        incident = keep.revoke(channel="web", **_BY)["incident"] or keep.revoke(channel="user", **_BY)["incident"]
        keep.undo(incident, **_BY)
        ids = {"memory": memory, "item": item, "ticket": ticket, "grant": grant, "incident": incident}
        return cls(keep, {kind: str(one) for kind, one in ids.items()}, rows_of(keep))


@dataclass(frozen=True)
class Trespass:
    """Use an id of the neighbour's in the laden keep."""

    which: int

    def run(self, twins: Twins) -> None:
        neighbour = beside(twins)
        kind, door = _DOORS[self.which % len(_DOORS)]
        found = neighbour.ids[kind]
        never = found[:-16] + "".join(_OTHER[mark] for mark in found[-16:])
        theirs, nobodys = (_answer(twins.laden, door, name) for name in (found, never))
        if theirs != nobodys:
            raise PromiseBroken(f"P4: the neighbour's {kind} is answered {theirs}, and one that never was {nobodys}")


_OTHER = {mark: "0123456789abcdef"[(number + 7) % 16] for number, mark in enumerate("0123456789abcdef")}


@dataclass(frozen=True)
class LookOver:
    """Look for the neighbour's words wherever the laden keep tells any."""

    session: str

    def run(self, twins: Twins) -> None:
        neighbour, keep = beside(twins), twins.laden.keep
        told: list[Any] = [
            keep.get_memories(),
            keep.recall(f"What opens the safe? {SECRET}", k=50, background=True),
            keep.export(),
            keep.browse(),
            keep.sources(),
            keep.working.window(self.session),
            keep.review.list(None),
            keep.audit.events(),
        ]
        if any(SECRET in str(one) for one in told):
            raise PromiseBroken("P4: the keep tells what its neighbour knows")
        if neighbour.rows != rows_of(neighbour.keep):
            raise PromiseBroken("P4: what was done to the keep changed its neighbour")


def beside(twins: Twins) -> Neighbour:
    """The laden keep's neighbour, who moves in with the first who asks."""
    if twins.neighbour is None:
        twins.neighbour = Neighbour.of(twins.laden)
    found: Neighbour = twins.neighbour
    return found


def _answer(side: Side, door: Door, name: str) -> tuple[str, bool]:
    outcome = attempt(partial(door, side.keep, name))
    return outcome.code, outcome.ok
