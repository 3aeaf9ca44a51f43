"""Find the groups that could be merged: kin that nothing else refers to, and what can stand for them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from truekeep.read.reader import RecordReader, Shown
from truekeep.records.rows import Vector, merged_in
from truekeep.stores.records import item_from, new_id
from truekeep.stores.table_view import Derived, TableView
from truekeep.trust.influence import kinship, standing_in
from truekeep.types import Memory

if TYPE_CHECKING:
    from truekeep.claims.contradictions import ClaimKeys
    from truekeep.config import Settings
    from truekeep.stores.ledger import Ledger, Sealed
    from truekeep.write.judge import Judge

_MOST_IN_ONE = 256
"""Memories that become one in one go; its row names every one of them."""


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
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
        self,
        ledger: Ledger,
        reader: RecordReader,
        judge: Judge,
        claim_keys: ClaimKeys,
        settings: Settings,
    ) -> None:
        self._ledger = ledger
        self._reader = reader
        self._judge = judge
        self._claim_keys = claim_keys
        self._settings = settings
        tickets, queue = TableView(ledger, "tickets", _matched), TableView(ledger, "queue", _asked_about)
        self._named = Derived(_all_of, tickets, TableView(ledger, "credits", _credited), queue)
        """What tickets, credits and the open items of the queue name."""

    def alike(self) -> list[tuple[Shown, ...]]:
        """Groups of kin that nothing refers to, found by their claims' digests: no text is compared with all others."""
        claims: defaultdict[str, list[Shown]] = defaultdict(list)
        with self._ledger.reading():
            involved = self._named.now() | {sealed.row.tag for sealed in self._ledger.all("derived")}
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
        return not self._named.now().isdisjoint(ids) or any(self._ledger.tagged("derived", one, limit=1) for one in ids)

    def made(self, batch: Iterable[tuple[Shown, ...]], left: Counter[str]) -> Iterator[DuplicateGroup]:
        """What can stand for each group, if the gate would let it in and it still states the same."""
        for shown in batch:
            first = shown[0].memory
            made = self._claim_keys.bound(standing_in([one.memory for one in shown], new_id("mem")))
            if (made.claim, made.keys) != (first.claim, first.keys):
                left["would_state_something_else"] += 1
            elif max(len(made.topics), len(made.entities)) > self._settings.fields_cap:
                left["too_many_labels"] += 1
            elif not self._judge.passes(made):
                left["not_let_in"] += 1
            else:
                yield DuplicateGroup(shown, made)


def _kin(shown: Iterable[Shown]) -> Iterator[list[Shown]]:
    found: defaultdict[Hashable, list[Shown]] = defaultdict(list)
    for one in shown:
        if (key := kinship(one.memory)) is not None:
            found[key, one.may_act].append(one)
    return (kin for kin in found.values() if len(kin) > 1)


def _matched(sealed: Sealed) -> frozenset[str]:
    return frozenset(json.loads(sealed.row.body).get("matched", ()))


def _credited(sealed: Sealed) -> frozenset[str]:
    return frozenset(json.loads(sealed.row.body)["memories"])


def _asked_about(sealed: Sealed) -> frozenset[str] | None:
    item = item_from(sealed)
    is_open = item is not None and item.state == "open"
    return frozenset({item.memory.id, item.target or "", *item.contests}) if item is not None and is_open else None


def _all_of(*named: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*chain.from_iterable(named))
