"""Burial: what a person rejects or forgets leaves a tombstone, and what was derived from it falls with it.

Both can be taken back: a tombstone is lifted, and what fell and still waits stands up again.
"""

from __future__ import annotations

from truekeep.custody import Custody
from truekeep.lineage import Lineage
from truekeep.proofs import Proofs
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.tombstones import Tombstones
from truekeep.types import Effects, Finding, Memory, Severity, Standing, Threat

FORGOTTEN = "rejected_claim"
_REASON = "A person rejected or forgot this claim; it can be lifted in review."


class Burial:
    """Buries claims of one keep, inside the transaction of a person's decision."""

    def __init__(
        self, ledger: Ledger, custody: Custody, tombstones: Tombstones, lineage: Lineage, proofs: Proofs
    ) -> None:
        self._ledger = ledger
        self._custody = custody
        self._tombstones = tombstones
        self._lineage = lineage
        self._proofs = proofs

    def over(self, text: str, standing: Standing) -> list[Finding]:
        """What a tombstone that lies over a text of that standing has against it."""
        if self._tombstones.over(text, standing) is None:
            return []
        whole = (0, len(text))
        return [Finding(FORGOTTEN, Threat.FORGOTTEN, Severity.MEDIUM, whole, screen="tombstones", reason=_REASON)]

    def bury(self, entry: Entry, memory: Memory, *, by: str, reason: str) -> Effects:
        """Leave a tombstone for what a person rejected or forgot; what was derived from it falls, too."""
        fallen = [self._custody.let_fall(entry, child, memory) for child in self._lineage.descendants(memory.id)]
        items = [item for item in fallen if item is not None]
        stones = self._tombstones.bury(entry, memory, by, reason, items)
        entry.event("claim.buried", text=self._ledger.digest("text", memory.text), by=by, fallen=items)
        return Effects(stones=stones, fallen=tuple(items))

    def unbury(self, entry: Entry, text: str, *, by: str, reason: str) -> bool:
        """Lift the tombstone of a text, and put back what fell with it and still waits."""
        fallen = self._tombstones.lift(entry, text)
        if fallen is None:
            return False
        entry.event("tombstone.lifted", text=self._ledger.digest("text", text), by=by, reason=reason)
        self._custody.stand_up(entry, fallen, by=by, reason=reason)
        return True

    def take_back(self, entry: Entry, effects: Effects, *, by: str, reason: str) -> None:
        """Undo what a decision did beside the memories: its own tombstones go, what fell with it stands up again, and
        values that it cleared are hearsay's again. A tombstone that was there before it stays.
        """
        self._tombstones.remove(entry, effects.stones)
        self._proofs.mark_again(entry, effects.cleared)
        entry.event("decision.taken_back", stones=len(effects.stones), marks=len(effects.cleared), by=by)
        self._custody.stand_up(entry, effects.fallen, by=by, reason=reason)
