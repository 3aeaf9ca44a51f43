"""Proofs: what a keep holds in favour of a memory. Witnesses of its claim, values first met as hearsay, credits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.claims.contradictions import tag
from truekeep.claims.mentions import FirstMentions
from truekeep.stores.records import memory_from
from truekeep.stores.table_view import Derived, TableView
from truekeep.trust.influence import (
    Corroboration,
    Credits,
    MemoryFacts,
    Reader,
    Shelf,
    Statement,
    corroboration,
    hearsay_marks,
    standing_for,
)
from truekeep.trust.origin import AGENT, is_moved, label_of
from truekeep.types import Memory, Standing

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_MOST_ANCESTORS = 1_000
"""Where the line of parents is cut off; a chain made to be long must not stop a read."""
_NO_WITNESS, _NO_CREDIT = Corroboration(), Credits()
_MOST_STATEMENTS = 10_000
"""Statements of one claim that are looked at for witnesses; two independent ones are enough."""
_MOST_OF_ONE = 4
"""Statements of one source that are weighed: repeating oneself must not crowd another witness out."""


class Evidence:
    """Looks up, and writes down, what the rule of influence asks about."""

    def __init__(
        self, ledger: Ledger, shelf: Shelf, clock: Callable[[], datetime], is_shared: Callable[[], bool]
    ) -> None:
        self._ledger = ledger
        self.is_shared = is_shared
        """Whether several members share the keep, so that OWNER is relative to the reader."""
        self._shelf = shelf
        self._clock = clock
        self._mentions = FirstMentions(ledger)
        self._credits = Derived(_counted, TableView(ledger, "credits", _credit))

    def facts(self, memory: Memory, reader: Reader) -> MemoryFacts:
        """All that the rule of influence may know about a memory that no rule in force blocks."""
        standing = standing_for(memory.standing, memory.origin.principal, reader)
        enrolled = standing is Standing.ENROLLED and memory.approval is None
        return MemoryFacts(
            standing=memory.standing,
            principal=memory.origin.principal,
            is_agents=memory.origin.channel == AGENT,
            is_active=True,
            is_verified=memory.verified,
            is_blocked=False,
            expires_at=memory.expires_at,
            approval=memory.approval,
            repeats_hearsay=enrolled and self._repeats_hearsay(memory.text),
            corroboration=self._witnesses(memory, reader) if enrolled else _NO_WITNESS,
            credits=self.credits(memory) if standing is not Standing.OWNER else _NO_CREDIT,
        )

    def fades_at(self, memory: Memory) -> datetime | None:
        """When a memory that cannot act by then expires; what was moved in waits for its owner."""
        if is_moved(memory.origin):
            return None
        return self._shelf.fades_at(memory.standing, memory.approval, memory.created_at)

    def note(self, entry: Entry, text: str, standing: Standing, *, reviewed: bool = False) -> tuple[str, ...]:
        """Remember who was first to mention the telling values of a text, inside the writer's transaction.

        What was first met as hearsay stays so until the owner says it, too, or a reviewer approves it. In a shared
        keep no member clears it for the others. Gives the marks that were cleared.
        """
        if standing is Standing.OWNER and not reviewed and self.is_shared():
            standing = Standing.ENROLLED
        if standing is Standing.OWNER and self._ledger.is_empty("marks"):
            return ()
        return self._mentions.note(entry, hearsay_marks(text), standing)

    def mark_again(self, entry: Entry, cleared: Iterable[str]) -> None:
        """Let values count as first met as hearsay again, because the approval that cleared them was taken back."""
        self._mentions.mark_again(entry, cleared)

    def credits(self, memory: Memory) -> Credits:
        """Good and bad outcomes of runs whose redeemed tickets relied on the memory as it is now.

        What was changed since has still to prove itself: otherwise a proven memory could be rewritten at will.
        """
        return self._credits.seen().get((memory.id, memory.version), _NO_CREDIT)

    def all_credits(self) -> Mapping[tuple[str, int], Credits]:
        """The outcomes of every version of a memory that an outcome speaks for or against."""
        return self._credits.seen()

    def _repeats_hearsay(self, text: str) -> bool:
        return not self._ledger.is_empty("marks") and self._mentions.any_heard(hearsay_marks(text))

    def _witnesses(self, memory: Memory, reader: Reader) -> Corroboration:
        if not memory.claim:
            return corroboration([], reader)
        said = Counter[str]()
        statements: list[Statement] = []
        for other in self._stated(memory, reader):
            # A system that repeats itself must not crowd another witness out.
            who = _speaker(other)
            if other.verified and said[who] < _MOST_OF_ONE and other.claim == memory.claim:
                said[who] += 1
                statements.append(self._statement(other))
        return corroboration(statements, reader)

    def _stated(self, memory: Memory, reader: Reader) -> Iterator[Memory]:
        """What answers the same question under the same label; to a member, other members' words are witnesses, too."""
        labels = (Standing.OWNER.label, Standing.ENROLLED.label) if reader.is_shared_keep else (label_of(memory),)
        for one in labels:
            yield from map(memory_from, self._ledger.tagged("memories", tag(memory, one), _MOST_STATEMENTS))

    def _statement(self, memory: Memory) -> Statement:
        ancestors = self._ancestors(memory.origin.parents)
        return Statement(
            memory_id=memory.id,
            principal=_speaker(memory),
            standing=memory.standing,
            is_agents=memory.origin.channel == AGENT,
            ancestors=frozenset(ancestors),
            heard_from=frozenset(_speaker(one) for known in ancestors.values() for one in known),
            repeats_hearsay=self._repeats_hearsay(memory.text),
            is_active=memory.expires_at is None or memory.expires_at > self._clock(),
            said_at=memory.created_at,
            fades_at=self.fades_at(memory),
        )

    def _ancestors(self, parents: Iterable[str]) -> dict[str, list[Memory]]:
        """What a memory is derived from, by id, as far as it is known."""
        found: dict[str, list[Memory]] = {}
        waiting = list(parents)
        while waiting and len(found) < _MOST_ANCESTORS:
            ancestor = waiting.pop()
            if ancestor not in found:
                found[ancestor] = self._versions(ancestor)
                waiting += [parent for one in found[ancestor] for parent in one.origin.parents]
        return found

    def _versions(self, memory_id: str) -> list[Memory]:
        """A memory, or what is kept of one that is gone: being deleted or merged does not make kin independent."""
        sealed = self._ledger.get("memories", memory_id)
        rows = [sealed] if sealed is not None else self._ledger.tagged("history", memory_id, limit=-1)
        return [memory_from(row) for row in rows if row.verified]


def _credit(sealed: Sealed) -> tuple[bool, list[tuple[str, int]]]:
    """Whether a run ended well, and the memories, with their versions, that it speaks for or against."""
    body = json.loads(sealed.row.body)
    return body["outcome"] == "good", list(body["memories"].items())


def _counted(credits: Iterable[tuple[bool, list[tuple[str, int]]]]) -> dict[tuple[str, int], Credits]:
    good: Counter[tuple[str, int]] = Counter()
    bad: Counter[tuple[str, int]] = Counter()
    for is_good, used in credits:
        (good if is_good else bad).update(used)
    return {used: Credits(good[used], bad[used]) for used in good | bad}


def _speaker(memory: Memory) -> str:
    return memory.origin.principal or memory.origin.channel
