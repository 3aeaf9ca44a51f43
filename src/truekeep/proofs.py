"""Proofs: what a keep holds in favour of a memory. Witnesses of its claim, values first met as hearsay, credits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from truekeep.influence import (
    Claim,
    Corroboration,
    Credits,
    MemoryFacts,
    Reader,
    Statement,
    claim_of,
    corroboration,
    hearsay_marks,
    same_claim,
    standing_for,
)
from truekeep.origin import AGENT
from truekeep.stores.audit import Touched
from truekeep.stores.ledger import Entry, Ledger
from truekeep.stores.records import memory_from
from truekeep.types import Memory, Standing

_MOST_ANCESTORS = 1_000
_NO_WITNESS, _NO_CREDIT = Corroboration(), Credits()
_MOST_STATEMENTS = 10_000
_MOST_OF_ONE = 4


class Proofs:
    """Looks up, and writes down, what the rule of influence asks about."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._credits: dict[str, Credits] | None = None
        ledger.watch(self._forget_counts)

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
            credits=self.credits(memory.id) if standing is not Standing.OWNER else _NO_CREDIT,
        )

    def tag(self, memory: Memory) -> str:
        """The tag of a memory's row: standing, approval and, for an enrolled statement, its claim."""
        mark = "+" if memory.approval else ""
        if memory.standing is not Standing.ENROLLED:
            return f"{memory.standing.label}{mark}"
        claim = _claim(memory)
        key = self._ledger.digest("claim-key", claim.key) if claim.bound and claim.key else ""
        return f"{memory.standing.label}{mark}:{key}"

    def note(self, entry: Entry, text: str, standing: Standing) -> None:
        """Remember who was first to mention the telling values of a text, inside the writer's transaction.

        What was first met as hearsay stays so until the owner says it, too.
        """
        if standing is Standing.OWNER and not self._ledger.count("marks"):
            return
        for mark in hearsay_marks(text):
            row_id = self._ledger.digest("mark", mark)
            known = self._ledger.get("marks", row_id)
            if known is None:
                if standing is not Standing.OWNER:
                    entry.put("marks", row_id, {"v": 1, "first": standing.label})
            elif standing is Standing.OWNER and (not known.verified or _is_hearsay(known.row.body)):
                entry.replace("marks", known.row, {"v": 1, "first": standing.label})

    def credits(self, memory_id: str) -> Credits:
        """Good and bad outcomes of runs whose redeemed tickets relied on the memory."""
        if self._credits is None:
            self._credits = self._counted()
        return self._credits.get(memory_id, Credits())

    def _counted(self) -> dict[str, Credits]:
        good: Counter[str] = Counter()
        bad: Counter[str] = Counter()
        for sealed in self._ledger.all("credits"):
            if sealed.verified:
                body = json.loads(sealed.row.body)
                (good if body["outcome"] == "good" else bad).update(body["memories"])
        return {memory_id: Credits(good[memory_id], bad[memory_id]) for memory_id in good | bad}

    def _forget_counts(self, changed: Sequence[Touched]) -> None:
        if any(table == "credits" for table, _, _ in changed):
            self._credits = None

    def _repeats_hearsay(self, text: str) -> bool:
        found = (self._ledger.get("marks", self._ledger.digest("mark", mark)) for mark in hearsay_marks(text))
        return any(sealed is not None and (not sealed.verified or _is_hearsay(sealed.row.body)) for sealed in found)

    def _witnesses(self, memory: Memory, reader: Reader) -> Corroboration:
        tag = self.tag(memory)
        if tag.endswith(":"):
            return corroboration([], reader)
        claim, said = _claim(memory), Counter[str]()
        statements: list[Statement] = []
        for other in map(memory_from, self._ledger.tagged("memories", tag, _MOST_STATEMENTS)):
            # A system that repeats itself must not crowd another witness out.
            who = other.origin.principal or other.origin.channel
            if other.verified and said[who] < _MOST_OF_ONE and same_claim(_claim(other), claim):
                said[who] += 1
                statements.append(self._statement(other))
        return corroboration(statements, reader)

    def _statement(self, memory: Memory) -> Statement:
        return Statement(
            memory_id=memory.id,
            principal=memory.origin.principal or memory.origin.channel,
            standing=memory.standing,
            is_agents=memory.origin.channel == AGENT,
            ancestors=self._ancestors(memory.origin.parents),
            repeats_hearsay=self._repeats_hearsay(memory.text),
        )

    def _ancestors(self, parents: Iterable[str]) -> frozenset[str]:
        found: set[str] = set()
        waiting = list(parents)
        while waiting and len(found) < _MOST_ANCESTORS:
            parent = waiting.pop()
            if parent not in found:
                found.add(parent)
                sealed = self._ledger.get("memories", parent)
                waiting += memory_from(sealed).origin.parents if sealed and sealed.verified else ()
        return frozenset(found)


def _claim(memory: Memory) -> Claim:
    """What the memory states; "I" and "my" are its principal's, so that two people's accounts stay apart."""
    return claim_of(memory.text, speaker=memory.origin.principal)


def _is_hearsay(body: str | bytes) -> bool:
    return bool(json.loads(body)["first"] == Standing.HEARSAY.label)
