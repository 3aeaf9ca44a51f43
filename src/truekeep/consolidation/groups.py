"""Find the groups that could be merged: kin that nothing else refers to, and what can stand for them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from truekeep.archive import merged_in
from truekeep.config import Settings
from truekeep.influence import kinship, standing_in
from truekeep.judging import Judge
from truekeep.memory_rows import Vector
from truekeep.reading import Reader, Shown
from truekeep.statements import Statements
from truekeep.stores.audit import Touched
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import item_from, new_id
from truekeep.tickets import Tickets
from truekeep.types import Memory

_MOST_IN_ONE = 256
_NAMING = ("tickets", "credits", "queue")


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that say the same, and the one that can stand for them."""

    shown: tuple[Shown, ...]
    made: Memory
    vector: Vector | None = None

    @property
    def originals(self) -> list[Memory]:
        """The memories themselves."""
        return [shown.memory for shown in self.shown]

    @property
    def ids(self) -> frozenset[str]:
        """Their ids."""
        return frozenset(memory.id for memory in self.originals)


class Groups:
    """The groups of one keep."""

    def __init__(
        self, ledger: Ledger, reader: Reader, judge: Judge, statements: Statements, tickets: Tickets, settings: Settings
    ) -> None:
        self._ledger = ledger
        self._reader = reader
        self._judge = judge
        self._statements = statements
        self._tickets = tickets
        self._settings = settings
        self._known: set[str] | None = None
        """What tickets, credits and the queue name, until one of these changes."""
        ledger.watch(self._note)

    def alike(self) -> list[tuple[Shown, ...]]:
        """Groups of kin that nothing refers to, found by their claims' digests: no text is compared with all others."""
        claims: defaultdict[str, list[Shown]] = defaultdict(list)
        with self._ledger.reading():
            involved = self._named() | {sealed.row.tag for sealed in self._ledger.all("derived")}
            merged = set(merged_in(self._ledger).values())
            for shown in self._reader.listed():
                memory = shown.memory
                is_derived = bool(memory.origin.parents) and memory.id not in merged
                if not (shown.blocked or is_derived or memory.id in involved):
                    claims[memory.claim].append(shown)
        stated = (kin for same in claims.values() if len(same) > 1 for kin in _kin(same))
        parts = (kin[at : at + _MOST_IN_ONE] for kin in stated for at in range(0, len(kin), _MOST_IN_ONE))
        return [tuple(part) for part in parts if len(part) > 1]

    def is_involved(self, ids: Collection[str]) -> bool:
        """Whether an action, an outcome, a question to a person or another memory refers to one of these by name."""
        return not self._named().isdisjoint(ids) or any(self._ledger.tagged("derived", one, limit=1) for one in ids)

    def _named(self) -> set[str]:
        if self._known is None:
            found = {memory_id for record in self._tickets.all() for memory_id in record.matched}
            for sealed in self._ledger.all("credits"):
                found |= set(json.loads(sealed.row.body)["memories"]) if sealed.verified else set()
            for item in map(item_from, self._ledger.all("queue")):
                if item is not None and item.state == "open":
                    found |= {item.memory.id, item.target or "", *item.contests}
            self._known = found
        return self._known

    def _note(self, changed: Sequence[Touched]) -> None:
        if any(table in _NAMING for table, _, _ in changed):
            self._known = None

    def made(self, batch: Iterable[tuple[Shown, ...]], left: Counter[str]) -> Iterator[Group]:
        """What can stand for each group, if the gate would let it in and it still states the same."""
        for shown in batch:
            first = shown[0].memory
            made = self._statements.bound(standing_in([one.memory for one in shown], new_id("mem")))
            if (made.claim, made.keys) != (first.claim, first.keys):
                left["would_state_something_else"] += 1
            elif max(len(made.topics), len(made.entities)) > self._settings.fields_cap:
                left["too_many_labels"] += 1
            elif not self._judge.passes(made):
                left["not_let_in"] += 1
            else:
                yield Group(shown, made)


def _kin(shown: Iterable[Shown]) -> Iterator[list[Shown]]:
    found: defaultdict[Hashable, list[Shown]] = defaultdict(list)
    for one in shown:
        if (key := kinship(one.memory)) is not None:
            found[key, one.may_act].append(one)
    return (kin for kin in found.values() if len(kin) > 1)
