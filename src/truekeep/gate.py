"""The way in: every writer calls ``admit``, and nothing else writes memories.

A candidate is checked for a tombstone, shown to the screens, decided on by the policy, and then stored, queued
or only audited, in one transaction with its audit event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from truekeep.candidate import fields_of
from truekeep.catalog import Catalog
from truekeep.config import Settings
from truekeep.errors import UnknownId
from truekeep.policy import Policy, Ruling, decide
from truekeep.proofs import Proofs
from truekeep.screens.panel import Screening
from truekeep.stores.ledger import Entry, Ledger
from truekeep.stores.records import item_body, item_from, memory_body, memory_from, new_id, tombstone_from
from truekeep.text import folded
from truekeep.types import (
    Approval,
    Candidate,
    Decision,
    Finding,
    Item,
    Memory,
    Severity,
    Standing,
    Threat,
    Verdict,
)

FORGOTTEN = "rejected_claim"
_WORDS = re.compile(r"\w+")

Also = Callable[[Entry, Sequence[Verdict]], None]
"""What a caller writes in the same transaction."""

Vector = Any
"""A vector as the embedder made it; the gate only hands it on."""

_OUTRANKED = Ruling(
    Decision.QUARANTINE, "change_outranked", "Held for review: it would change a memory of higher standing."
)
_QUEUE_FULL = Ruling(Decision.REJECT, "queue_full", "The review queue holds too much from this source already.")
_BAD_OUTCOME = Ruling(Decision.QUARANTINE, "bad_outcome", "An action that relied on it turned out badly.")
_DELETION = Ruling(Decision.QUARANTINE, "deletion_proposed", "The deletion waits for a person.")


@dataclass(frozen=True, slots=True)
class _Judged:
    """A candidate with what was found in it and what the policy makes of that."""

    candidate: Candidate
    ruling: Ruling
    findings: tuple[Finding, ...] = ()
    vector: Vector | None = None


class Gate:
    """Admits candidates to one keep."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        proofs: Proofs,
        panel: Screening,
        policy: Policy,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._proofs = proofs
        self._panel = panel
        self._policy = policy
        self._settings = settings
        self._clock = clock

    def admit(self, candidate: Candidate) -> Verdict:
        """Decide on one candidate and do what was decided."""
        return self.admit_all([candidate])[0]

    def admit_all(
        self,
        candidates: Sequence[Candidate],
        *,
        skip_rejected: bool = False,
        mark: str | None = None,
        also: Also | None = None,
    ) -> list[Verdict]:
        """Decide on a batch, all or nothing: one rejection, and nothing of it is stored.

        ``skip_rejected`` stores the rest instead; ``mark`` is audited with the batch, for whoever resumes a load.
        What ``also`` writes is written with the batch or not at all, and what it raises undoes the batch.
        """
        judged = self._judge(candidates)
        refused = [one.ruling.decision is Decision.REJECT for one in judged]
        nothing = any(refused) and not skip_rejected
        with self._ledger.writing() as entry:
            verdicts = [
                self._refuse(entry, one) if nothing or bad else self._carry_out(entry, one)
                for one, bad in zip(judged, refused, strict=True)
            ]
            if mark is not None:
                entry.event("batch.marked", mark=mark, count=len(verdicts))
            if also is not None:
                also(entry, verdicts)
        return verdicts

    def weigh(self, candidate: Candidate) -> Verdict:
        """What would be decided on a candidate. Nothing is stored, queued or audited."""
        judged = self._ruled(candidate, None)
        return Verdict(judged.ruling.decision, judged.ruling.code, judged.ruling.reason, judged.findings)

    def admit_change(self, target: Memory, candidate: Candidate) -> Verdict:
        """Decide on new content for a memory; whatever is not accepted leaves the old entry as it was."""
        (judged,) = self._judge([candidate])
        rank = Standing.OWNER if target.approval or not target.verified else target.standing
        outranked = candidate.standing < rank
        with self._ledger.writing() as entry:
            if judged.ruling.decision is Decision.REJECT:
                return self._refuse(entry, judged)
            if outranked:
                return self._queue(entry, replace(judged, ruling=_OUTRANKED), target=target)
            if judged.ruling.decision is Decision.QUARANTINE:
                return self._queue(entry, judged, target=target)
            return self._change(entry, target, judged)

    def propose_deletion(self, target: Memory, candidate: Candidate) -> Verdict:
        """Queue a wish to delete a memory; the memory stays until a person decides."""
        with self._ledger.writing() as entry:
            return self._queue(entry, _Judged(candidate, _DELETION), target=target, kind="deletion")

    def doubt(self, entry: Entry, memory: Memory) -> None:
        """Ask a person about a memory that led to a bad outcome, inside the caller's transaction; once at a time."""
        tag = f"doubt:{memory.id}"
        if not self._ledger.count("queue", tag):
            candidate = Candidate(memory.text, memory.standing, memory.origin)
            self._put_item(entry, _Judged(candidate, _BAD_OUTCOME), memory, target=memory, kind="doubt", tag=tag)

    def admit_approved(self, entry: Entry, item: Item, approval: Approval) -> Memory:
        """Store what a reviewer let in, inside the reviewer's transaction."""
        approved = replace(item.memory, id=new_id("mem"), approval=approval, screened="", created_at=approval.at)
        self._proofs.note(entry, approved.text, Standing.OWNER)
        ((_, vector),) = self._catalog.vectors([approved])
        if item.target is not None and (target := self._ledger.get("memories", item.target)):
            return self._replace(entry, memory_from(target), approved, vector)
        return replace(approved, seq=self._store(entry, approved, vector))

    def claim(self, text: str) -> str:
        """The keyed hash under which a claim's tombstone is kept: over its words, whatever stands between them."""
        plain = folded(text)
        return self._ledger.digest("claim", " ".join(_WORDS.findall(plain)) or plain)

    def _judge(self, candidates: Sequence[Candidate]) -> list[_Judged]:
        vectors = self._catalog.vectors(candidates)
        judged = {place: self._ruled(candidates[place], vector) for place, vector in vectors}
        return [judged[place] for place in range(len(candidates))]

    def _ruled(self, candidate: Candidate, vector: Vector | None) -> _Judged:
        known = vector if self._catalog.is_screened() else None
        findings = self._forgotten(candidate) or self._panel.examine(fields_of(candidate), candidate.standing, known)
        return _Judged(candidate, decide(self._policy, candidate.standing, findings), tuple(findings), vector)

    def _forgotten(self, candidate: Candidate) -> list[Finding]:
        sealed = self._ledger.get("tombstones", self.claim(candidate.text))
        stone = tombstone_from(sealed) if sealed else None
        if stone is None or stone.standing < candidate.standing:
            return []
        reason = "A person rejected or forgot this claim; it can be lifted in review."
        whole = (0, len(candidate.text))
        return [Finding(FORGOTTEN, Threat.FORGOTTEN, Severity.MEDIUM, whole, screen="tombstones", reason=reason)]

    def _carry_out(self, entry: Entry, judged: _Judged) -> Verdict:
        ruling = judged.ruling
        if ruling.decision is Decision.QUARANTINE:
            return self._queue(entry, judged)
        memory = self._memory(judged)
        self._store(entry, memory, judged.vector)
        self._proofs.note(entry, memory.text, memory.standing)
        _note(entry, "memory.stored", memory, judged)
        return Verdict(ruling.decision, ruling.code, ruling.reason, judged.findings, memory.id)

    def _refuse(self, entry: Entry, judged: _Judged) -> Verdict:
        ruling, candidate = judged.ruling, judged.candidate
        if ruling.decision is not Decision.REJECT:
            reason = "Nothing of the batch was stored, because another entry in it was rejected."
            return Verdict(Decision.REJECT, "batch_refused", reason, judged.findings)
        if candidate.standing is Standing.HEARSAY:
            self._proofs.note(entry, candidate.text, candidate.standing)
        entry.event(
            "memory.rejected",
            text=self._ledger.digest("text", candidate.text),
            code=ruling.code,
            rules=[finding.rule_id for finding in judged.findings],
            channel=candidate.origin.channel,
            standing=candidate.standing.label,
        )
        return Verdict(ruling.decision, ruling.code, ruling.reason, judged.findings)

    def _queue(
        self, entry: Entry, judged: _Judged, *, target: Memory | None = None, kind: str | None = None
    ) -> Verdict:
        origin, ruling = judged.candidate.origin, judged.ruling
        tag, now = open_tag(origin.channel, origin.principal), self._clock()
        if self._ledger.count("queue", tag) >= self._settings.queue_per_principal:
            self._expire(entry, tag, now)
        if self._ledger.count("queue", tag) >= self._settings.queue_per_principal:
            return self._refuse(entry, replace(judged, ruling=_QUEUE_FULL))
        memory = self._memory(judged)
        self._proofs.note(entry, memory.text, memory.standing)
        item = self._put_item(entry, judged, memory, target, kind or ("change" if target else "memory"), tag)
        return Verdict(Decision.QUARANTINE, ruling.code, ruling.reason, judged.findings, item_id=item.id)

    def _put_item(
        self, entry: Entry, judged: _Judged, memory: Memory, target: Memory | None, kind: str, tag: str
    ) -> Item:
        now, ruling = self._clock(), judged.ruling
        item = Item(
            id=new_id("rev"),
            kind=kind,
            state="open",
            memory=memory,
            code=ruling.code,
            reason=ruling.reason,
            findings=judged.findings,
            created_at=now,
            expires_at=now + timedelta(days=self._settings.queue_expiry_days),
            target=target.id if target else None,
        )
        entry.put("queue", item.id, item_body(item), tag)
        entry.event("memory.held", item=item.id, what=item.kind, code=item.code, target=item.target)
        return item

    def _expire(self, entry: Entry, tag: str, now: datetime) -> None:
        """Close the items of one source that nobody looked at in time, so that they no longer take up its share."""
        lapsed = [
            (sealed, item)
            for sealed in self._ledger.tagged("queue", tag, self._settings.queue_per_principal)
            if (item := item_from(sealed)) is not None and item.expires_at <= now
        ]
        for sealed, item in lapsed:
            entry.replace("queue", sealed.row, item_body(replace(item, state="expired")))
        if lapsed:
            entry.event("review.expired", items=len(lapsed))

    def _change(self, entry: Entry, target: Memory, judged: _Judged) -> Verdict:
        memory = self._replace(entry, target, self._memory(judged), judged.vector)
        self._proofs.note(entry, memory.text, memory.standing)
        _note(entry, "memory.changed", memory, judged)
        return Verdict(Decision.ACCEPT, "changed", "Changed.", judged.findings, memory.id)

    def _replace(self, entry: Entry, target: Memory, memory: Memory, vector: Vector | None) -> Memory:
        """Put new content in the place of a memory; the old version goes to history."""
        sealed = self._ledger.get("memories", target.id)
        if sealed is None:
            raise UnknownId("The memory that was to be changed is gone.")
        newer = replace(memory, id=target.id, version=target.version + 1, seq=target.seq)
        retire(entry, target, "changed")
        card = self._catalog.card(newer, vector)
        entry.replace("memories", sealed.row, memory_body(newer), self._proofs.tag(newer), card=card)
        return newer

    def _store(self, entry: Entry, memory: Memory, vector: Vector | None) -> int:
        card = self._catalog.card(memory, vector)
        return entry.put("memories", memory.id, memory_body(memory), self._proofs.tag(memory), card=card)

    def _memory(self, judged: _Judged) -> Memory:
        candidate, now = judged.candidate, self._clock()
        return Memory(
            id=new_id("mem"),
            text=candidate.text,
            standing=candidate.standing,
            origin=candidate.origin,
            created_at=now,
            as_of=candidate.as_of or now,
            kind=candidate.kind,
            topics=candidate.topics,
            entities=candidate.entities,
            metadata=candidate.metadata,
            expires_at=candidate.expires_at,
            screened="" if judged.findings else self._panel.digest,
        )


def retire(entry: Entry, memory: Memory, why: str) -> None:
    """Keep the version that is about to go, so that it can be brought back."""
    entry.put("history", f"{memory.id}.{memory.version}", memory_body(memory) | {"retired": why}, tag=memory.id)


def open_tag(channel: str, principal: str | None) -> str:
    """The tag of open review items of one source, by which they are counted and capped."""
    return f"open:{channel}:{principal or ''}"


def _note(entry: Entry, kind: str, memory: Memory, judged: _Judged) -> None:
    rules = [finding.rule_id for finding in judged.findings]
    origin = memory.origin
    entry.event(
        kind,
        memory=memory.id,
        version=memory.version,
        channel=origin.channel,
        principal=origin.principal,
        session=origin.session,
        standing=memory.standing.label,
        **({"rules": rules} if rules else {}),
    )
