"""All that waits for a person: held texts, notes to take over, proposals, calls, and a keep that was tampered with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truekeep.act.tickets import TicketRecord
from truekeep.quarantine.queue import QueueFilter, QueueGroup
from truekeep.serve.console.desk import Desk
from truekeep.types import Verification

if TYPE_CHECKING:
    from truekeep.keep import Keep

WHAT = ("tampering", "calls", "held", "notes", "proposals")
"""The kinds of things that wait, in the order in which a person should look at them."""
TAMPERING = "tampering"
"""What stands in an address for the entry that says that the keep was altered."""
_NOTES = frozenset({"noted", "noted_before", "moved_in", "moved_in_apart"})
_PROPOSALS = frozenset({"change", "deletion"})


@dataclass(frozen=True, slots=True)
class Waits:
    """What waits in one keep, as far as somebody looks at it."""

    groups: list[QueueGroup]
    """The held texts, notes and proposals that are looked for."""
    calls: list[TicketRecord]
    state: Verification
    counts: dict[str, int]
    """How much of each kind waits, whatever is looked for."""
    everything: list[QueueGroup]
    """All groups of the queue, whatever is looked for."""

    @property
    def is_tampered(self) -> bool:
        """Whether the keep is not what its log left behind, and that is looked for."""
        return not self.state.ok

    @property
    def tag(self) -> str:
        """A short tag of what a list holds; another one as soon as anything comes or goes."""
        ids = [card.item.id for group in self.groups for card in group.cards]
        held = " ".join([*ids, *(one.id for one in self.calls), *self.state.problems])
        return hashlib.sha256(held.encode()).hexdigest()[:12]


def kind_of(group: QueueGroup) -> str:
    """Which kind of waiting thing a group is."""
    if group.first.code in _NOTES:
        return "notes"
    return "proposals" if group.first.kind in _PROPOSALS else "held"


def waits_in(desk: Desk, keep: Keep, wanted: QueueFilter, what: str = "") -> Waits:
    """What waits: of the queue what the filter finds, and of everything one kind if one is named."""
    everything = keep.review.groups()
    found = everything if wanted.is_everything else keep.review.groups(wanted)
    calls, state = keep.actions.pending(via=desk.decides_as(keep)), keep.audit.state()
    counts = dict.fromkeys(WHAT, 0) | {"calls": len(calls), "tampering": int(not state.ok)}
    for group in everything:
        counts[kind_of(group)] += len(group.cards)
    shows_all = what == "" and wanted.is_everything
    return Waits(
        [group for group in found if what in ("", kind_of(group))],
        calls if shows_all or what == "calls" else [],
        state if shows_all or what == "tampering" else Verification(True, state.events, state.rows, ()),
        counts,
        everything,
    )
