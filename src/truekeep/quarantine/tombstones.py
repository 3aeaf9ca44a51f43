"""Tombstones: claims that a person rejected or forgot, kept as keyed hashes so that they are not planted again.

A claim is known by its words and, where it says whom it is about, by what it states: "six" for "6", another order of
words or a sentence put before it do not get it past. A rejected text that states several things at once buries only
all of them together; otherwise a truth could be buried by being told beside a lie. Only people bury. What was derived
from a buried claim falls with it; lifting the tombstone lets what fell and still waits stand up again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.stores.records import tombstone_body, tombstone_from
from truekeep.text.fold import folded
from truekeep.trust.influence import claim_of, clause_keys
from truekeep.types import Effects, Finding, Memory, Severity, Standing, Threat, Tombstone

if TYPE_CHECKING:
    from truekeep.claims.evidence import Evidence
    from truekeep.claims.lineage import Lineage
    from truekeep.quarantine.removal import Removal
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_WORDS = re.compile(r"\w+")
_MOST_CLAUSES = 32
"""Claims of one text that are looked up: a text made of many must not cost a lookup each."""
FORGOTTEN = "rejected_claim"
_REASON = "A person rejected or forgot this claim; it can be lifted in review."


class Tombstones:
    """The tombstones of one keep."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._clock = clock

    def over(self, text: str, standing: Standing) -> Tombstone | None:
        """The tombstone that a text of that standing comes under: as a whole, or by one thing that it states."""
        if self._ledger.is_empty("tombstones"):
            return None
        stones = (tombstone_from(sealed) for sealed in self._found([*self._keys(text), *self._parts(text)]))
        return next((stone for stone in stones if stone is not None and stone.standing >= standing), None)

    def bury(self, entry: Entry, memory: Memory, by: str, reason: str, fallen: Sequence[str] = ()) -> tuple[str, ...]:
        """Leave a tombstone for a claim, inside the caller's transaction; a higher one stays. Gives what is new."""
        keys, new = self._keys(memory.text), []
        for key in keys:
            sealed = self._ledger.get("tombstones", key)
            known = tombstone_from(sealed) if sealed else None
            stone = Tombstone(key, memory.standing, by, reason, self._clock(), keys, tuple(fallen))
            if sealed is None:
                entry.put("tombstones", key, tombstone_body(stone))
                new.append(key)
            elif known is None or known.standing < stone.standing:
                merged = (*(known.fallen if known else ()), *fallen)
                entry.replace("tombstones", sealed.row, tombstone_body(replace(stone, fallen=merged)))
        return tuple(new)

    def remove(self, entry: Entry, keys: Sequence[str]) -> None:
        """Take away just these."""
        for sealed in self._found(keys):
            entry.remove("tombstones", sealed.row)

    def lift(self, entry: Entry, text: str) -> tuple[str, ...] | None:
        """Remove what lies over a text; gives the items of what fell with it, or nothing if there was no tombstone."""
        found = list(self._found(self._keys(text)))
        stones = [stone for sealed in found if (stone := tombstone_from(sealed))]
        rows = {sealed.row.id: sealed for sealed in found}
        rows |= {sealed.row.id: sealed for sealed in self._found([key for stone in stones for key in stone.keys])}
        for sealed in rows.values():
            entry.remove("tombstones", sealed.row)
        return tuple(dict.fromkeys(item for stone in stones for item in stone.fallen)) if rows else None

    def _found(self, keys: Sequence[str]) -> Iterator[Sealed]:
        rows = (self._ledger.get("tombstones", key) for key in dict.fromkeys(keys))
        return (sealed for sealed in rows if sealed is not None)

    def _keys(self, text: str) -> tuple[str, ...]:
        """The whole text by its words and, if it says whom it is about, by what it states."""
        plain = folded(text)
        words = self._ledger.digest("claim", " ".join(_WORDS.findall(plain)) or plain)
        claim = claim_of(text)
        return (words, self._digest(claim.key)) if claim.bound and claim.key else (words,)

    def _parts(self, text: str) -> tuple[str, ...]:
        """Each thing that a longer text states."""
        claim = claim_of(text)
        if len(claim.clauses) == 1:
            return ()
        return tuple(self._digest(key) for key in clause_keys(claim)[:_MOST_CLAUSES])

    def _digest(self, key: str) -> str:
        return self._ledger.digest("buried", key)


class Burial:
    """Buries claims of one keep, inside the transaction of a person's decision."""

    def __init__(
        self, ledger: Ledger, removal: Removal, tombstones: Tombstones, lineage: Lineage, evidence: Evidence
    ) -> None:
        self._ledger = ledger
        self._removal = removal
        self._tombstones = tombstones
        self._lineage = lineage
        self._evidence = evidence

    def over(self, text: str, standing: Standing) -> list[Finding]:
        """What a tombstone that lies over a text of that standing has against it.

        The owner's own voice meets none: saying something again is remembering it again. In a shared keep members are
        bound by what was rejected for all of them.
        """
        if self._tombstones.over(text, standing) is None:
            return []
        if standing is Standing.OWNER and not self._evidence.is_shared():
            return []
        whole = (0, len(text))
        return [Finding(FORGOTTEN, Threat.FORGOTTEN, Severity.MEDIUM, whole, screen="tombstones", reason=_REASON)]

    def bury(self, entry: Entry, memory: Memory, *, by: str, reason: str) -> Effects:
        """Leave a tombstone for what a person rejected or forgot; what was derived from it falls, too."""
        fallen = [self._removal.let_fall(entry, child, memory) for child in self._lineage.descendants(memory.id)]
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
        self._removal.stand_up(entry, fallen, by=by, reason=reason)
        return True

    def take_back(self, entry: Entry, effects: Effects, *, by: str, reason: str) -> None:
        """Undo what a decision did beside the memories: its own tombstones go, what fell with it stands up again, and
        values that it cleared are hearsay's again. A tombstone that was there before it stays.
        """
        self._tombstones.remove(entry, effects.stones)
        self._evidence.mark_again(entry, effects.cleared)
        entry.event("decision.taken_back", stones=len(effects.stones), marks=len(effects.cleared), by=by)
        self._removal.stand_up(entry, effects.fallen, by=by, reason=reason)
