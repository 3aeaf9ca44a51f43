"""The way in: every writer calls ``admit``, and nothing else writes memories.

A candidate is checked for a tombstone, shown to the screens, decided on by the policy, and then stored, queued
or only audited, in one transaction with its audit event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from truekeep.candidate import fields_of
from truekeep.config import Settings
from truekeep.policy import Policy, Ruling, decide
from truekeep.screens.panel import Screening
from truekeep.stores.ledger import Entry, Ledger
from truekeep.stores.records import item_body, memory_body, memory_from, new_id, tombstone_from
from truekeep.text import folded
from truekeep.types import (
    Approval,
    Candidate,
    Decision,
    Finding,
    Item,
    Memory,
    Severity,
    Threat,
    Verdict,
)

FORGOTTEN = "rejected_claim"


class Gate:
    """Admits candidates to one keep."""

    def __init__(
        self,
        ledger: Ledger,
        panel: Screening,
        policy: Policy,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._panel = panel
        self._policy = policy
        self._settings = settings
        self._clock = clock

    def admit(self, candidate: Candidate) -> Verdict:
        """Decide on one candidate and do what was decided."""
        return self.admit_all([candidate])[0]

    def admit_all(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Decide on a batch, all or nothing: one rejection, and nothing of it is stored."""
        rulings = [self._judge(candidate) for candidate in candidates]
        refused = any(ruling.decision is Decision.REJECT for ruling, _ in rulings)
        with self._ledger.writing() as entry:
            return [
                self._refuse(entry, candidate, ruling, findings)
                if refused
                else self._carry_out(entry, candidate, ruling, findings)
                for candidate, (ruling, findings) in zip(candidates, rulings, strict=True)
            ]

    def admit_change(self, target: Memory, candidate: Candidate) -> Verdict:
        """Decide on new content for a memory; whatever is not accepted leaves the old entry as it was."""
        ruling, findings = self._judge(candidate)
        with self._ledger.writing() as entry:
            if ruling.decision is Decision.REJECT:
                return self._refuse(entry, candidate, ruling, findings)
            outranked = candidate.standing < target.standing or target.approval is not None
            if ruling.decision is Decision.QUARANTINE or outranked:
                reason = "Held for review: it would change a memory of higher standing." if outranked else ruling.reason
                code = "change_outranked" if outranked else ruling.code
                return self._queue(entry, candidate, Ruling(Decision.QUARANTINE, code, reason), findings, target=target)
            return self._change(entry, target, candidate, findings)

    def propose_deletion(self, target: Memory, candidate: Candidate) -> Verdict:
        """Queue a wish to delete a memory; the memory stays until a person decides."""
        ruling = Ruling(Decision.QUARANTINE, "deletion_proposed", "The deletion waits for a person.")
        with self._ledger.writing() as entry:
            return self._queue(entry, candidate, ruling, [], target=target, kind="deletion")

    def admit_approved(self, entry: Entry, item: Item, approval: Approval, memory: Memory) -> Memory:
        """Store what a reviewer let in, inside the reviewer's transaction."""
        approved = replace(memory, id=new_id("mem"), approval=approval, screened="", created_at=approval.at, seq=0)
        if item.target is not None and (target := self._ledger.get("memories", item.target)):
            return self._replace(entry, memory_from(target), approved)
        seq = self._store(entry, approved)
        return replace(approved, seq=seq)

    def claim(self, text: str) -> str:
        """The keyed hash under which a claim's tombstone is kept."""
        return self._ledger.digest("claim", folded(text))

    def _judge(self, candidate: Candidate) -> tuple[Ruling, list[Finding]]:
        findings = self._forgotten(candidate) or self._panel.examine(fields_of(candidate), candidate.standing)
        return decide(self._policy, candidate.standing, findings), findings

    def _forgotten(self, candidate: Candidate) -> list[Finding]:
        sealed = self._ledger.get("tombstones", self.claim(candidate.text))
        stone = tombstone_from(sealed) if sealed else None
        if stone is None or stone.standing < candidate.standing:
            return []
        reason = "A person rejected or forgot this claim; it can be lifted in review."
        whole = (0, len(candidate.text))
        return [Finding(FORGOTTEN, Threat.FORGOTTEN, Severity.MEDIUM, whole, screen="tombstones", reason=reason)]

    def _carry_out(self, entry: Entry, candidate: Candidate, ruling: Ruling, findings: list[Finding]) -> Verdict:
        if ruling.decision is Decision.QUARANTINE:
            return self._queue(entry, candidate, ruling, findings)
        memory = self._memory(candidate, findings)
        self._store(entry, memory)
        _note(entry, "memory.stored", memory, candidate, findings)
        return Verdict(ruling.decision, ruling.code, ruling.reason, tuple(findings), memory.id)

    def _refuse(self, entry: Entry, candidate: Candidate, ruling: Ruling, findings: list[Finding]) -> Verdict:
        if ruling.decision is not Decision.REJECT:
            reason = "Nothing of the batch was stored, because another entry in it was rejected."
            return Verdict(Decision.REJECT, "batch_refused", reason, tuple(findings))
        entry.event(
            "memory.rejected",
            text=self._ledger.digest("text", candidate.text),
            code=ruling.code,
            rules=[finding.rule_id for finding in findings],
            channel=candidate.origin.channel,
            standing=candidate.standing.label,
        )
        return Verdict(ruling.decision, ruling.code, ruling.reason, tuple(findings))

    def _queue(
        self,
        entry: Entry,
        candidate: Candidate,
        ruling: Ruling,
        findings: list[Finding],
        *,
        target: Memory | None = None,
        kind: str | None = None,
    ) -> Verdict:
        tag = open_tag(candidate.origin.channel, candidate.origin.principal)
        if self._ledger.count("queue", tag) >= self._settings.queue_per_principal:
            full = Ruling(Decision.REJECT, "queue_full", "The review queue holds too much from this source already.")
            return self._refuse(entry, candidate, full, findings)
        now = self._clock()
        item = Item(
            id=new_id("rev"),
            kind=kind or ("change" if target else "memory"),
            state="open",
            memory=self._memory(candidate, findings),
            code=ruling.code,
            reason=ruling.reason,
            findings=tuple(findings),
            created_at=now,
            expires_at=now + timedelta(days=self._settings.queue_expiry_days),
            target=target.id if target else None,
        )
        entry.put("queue", item.id, item_body(item), tag)
        entry.event("memory.held", item=item.id, what=item.kind, code=item.code, target=item.target)
        return Verdict(Decision.QUARANTINE, ruling.code, ruling.reason, tuple(findings), item_id=item.id)

    def _change(self, entry: Entry, target: Memory, candidate: Candidate, findings: list[Finding]) -> Verdict:
        memory = self._replace(entry, target, self._memory(candidate, findings))
        _note(entry, "memory.changed", memory, candidate, findings)
        return Verdict(Decision.ACCEPT, "changed", "Changed.", tuple(findings), memory.id)

    def _replace(self, entry: Entry, target: Memory, memory: Memory) -> Memory:
        """Put new content in the place of a memory; the old version goes to history."""
        sealed = self._ledger.get("memories", target.id)
        if sealed is None:
            raise LookupError(target.id)
        newer = replace(memory, id=target.id, version=target.version + 1, seq=target.seq)
        retire(entry, target, "changed")
        entry.replace("memories", sealed.row, memory_body(newer))
        entry.unindex(target.seq)
        entry.index(target.seq, newer.text)
        return newer

    def _store(self, entry: Entry, memory: Memory) -> int:
        seq = entry.put("memories", memory.id, memory_body(memory))
        entry.index(seq, memory.text)
        return seq

    def _memory(self, candidate: Candidate, findings: Sequence[Finding]) -> Memory:
        now = self._clock()
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
            screened="" if findings else self._panel.digest,
        )


def retire(entry: Entry, memory: Memory, why: str) -> None:
    """Keep the version that is about to go, so that it can be brought back."""
    entry.put("history", f"{memory.id}.{memory.version}", memory_body(memory) | {"retired": why}, tag=memory.id)


def open_tag(channel: str, principal: str | None) -> str:
    """The tag of open review items of one source, by which they are counted and capped."""
    return f"open:{channel}:{principal or ''}"


def _note(entry: Entry, kind: str, memory: Memory, candidate: Candidate, findings: list[Finding]) -> None:
    rules = [finding.rule_id for finding in findings]
    origin = candidate.origin
    entry.event(
        kind,
        memory=memory.id,
        version=memory.version,
        channel=origin.channel,
        principal=origin.principal,
        session=origin.session,
        standing=candidate.standing.label,
        **({"rules": rules} if rules else {}),
    )
