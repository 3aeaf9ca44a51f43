"""The way in: every writer calls ``admit``, and nothing else writes memories.

A candidate is checked for a tombstone, shown to the screens, decided on by the policy, and then stored, queued
or only audited, in one transaction with its audit event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truekeep.claims.contradictions import ClaimKeys, claim_in
from truekeep.errors import UnknownId
from truekeep.quarantine.queue import Queue, open_tag
from truekeep.records.idempotency import Idempotency
from truekeep.records.repeats import Repeats, Words, said_as
from truekeep.stores.entry import Entry
from truekeep.stores.records import item_from, memory_from, new_id
from truekeep.text.view import WATCH
from truekeep.trust.origin import AGENT, is_moved
from truekeep.trust.policy import Ruling
from truekeep.types import (
    Approval,
    Candidate,
    Decision,
    Effects,
    Item,
    Memory,
    Origin,
    Standing,
    Verdict,
)
from truekeep.write.judge import Judge, Judged, Vectors
from truekeep.write.secrets import ASKED, without_secret

if TYPE_CHECKING:
    from truekeep.claims.evidence import Evidence
    from truekeep.claims.may_act_now import Transitions
    from truekeep.quarantine.tombstones import Burial
    from truekeep.records.catalog import Catalog
    from truekeep.records.rows import MemoryRows
    from truekeep.stores.ledger import Ledger

Also = Callable[[Entry, Sequence[Verdict]], None]
"""What a caller writes in the same transaction."""

_OUTRANKED = Ruling(
    Decision.QUARANTINE, "change_outranked", "Held for review: it would change a memory of higher standing."
)
_QUEUE_FULL = Ruling(Decision.REJECT, "queue_full", "The review queue holds too much from this source already.")
_NOT_ITS_OWN = Ruling(Decision.QUARANTINE, "change_proposed", "Held for review: it would change somebody else's words.")
_DELETION = Ruling(Decision.QUARANTINE, "deletion_proposed", "The deletion waits for a person.")


class Gate:
    """Admits candidates to one keep."""

    def __init__(
        self,
        ledger: Ledger,
        catalog: Catalog,
        rows: MemoryRows,
        claim_keys: ClaimKeys,
        evidence: Evidence,
        transitions: Transitions,
        queue: Queue,
        burial: Burial,
        judge: Judge,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._rows = rows
        self._claim_keys = claim_keys
        self._evidence = evidence
        self._transitions = transitions
        self._queue = queue
        self._burial = burial
        self._judge = judge
        self._clock = clock
        self.requests = Idempotency(ledger)
        self._repeats = Repeats(ledger)

    def admit(self, candidate: Candidate) -> Verdict:
        """Decide on one candidate and do what was decided. A passage that is remembered already stays as it is."""
        known = self._repeats.of(candidate) if candidate.origin.message is not None else None
        if known is not None:
            return Verdict(Decision.ACCEPT, "known", "You said so, and it is remembered.", memory_id=known.id)
        return self.admit_all([candidate])[0]

    def admit_all(
        self,
        candidates: Sequence[Candidate],
        *,
        skip_rejected: bool = False,
        mark: str | None = None,
        also: Also | None = None,
        vectors: Vectors | None = None,
        request: str | None = None,
    ) -> list[Verdict]:
        """Decide on a batch, all or nothing: one rejection, and nothing of it is stored.

        ``skip_rejected`` stores the rest instead; ``mark`` is audited with the batch, for whoever resumes a load.
        What ``also`` writes is written with the batch or not at all, and what it raises undoes the batch. ``vectors``
        are the catalogue's, where it has embedded the batch already.
        A ``request`` that was stored before is answered as it was then.
        """
        with WATCH.get()("gate"):
            # Judged before the transaction: screening and embedding take long, and nobody else could write meanwhile.
            # What depends on other rows is decided inside it.
            judged = self._judge.all(candidates, vectors)
            refused = [one.ruling.decision is Decision.REJECT for one in judged]
            nothing = any(refused) and not skip_rejected
            with self._ledger.writing() as entry:
                if request is not None and (before := self.requests.answered(request)) is not None:
                    return before
                verdicts = [
                    self._refuse(entry, one) if nothing or bad else self._let_in(entry, one)
                    for one, bad in zip(judged, refused, strict=True)
                ]
                if mark is not None:
                    entry.event("batch.marked", mark=mark, count=len(verdicts))
                if request is not None and not nothing:
                    self.requests.note(entry, request, verdicts)
                if also is not None:
                    also(entry, verdicts)
            return verdicts

    def learn(self, said: Sequence[Candidate], again: Sequence[Candidate], also: Also) -> list[Verdict]:
        """Remember what was said and read in a session, in one transaction with what ``also`` writes.

        What the owner said before is refreshed instead of kept twice, and what the screens would refuse of the owner's
        words is held: nothing the owner said is lost without a way back. ``again`` were learned before, and only bring
        a gist along.
        """
        judged = [one.held_if_owners() for one in self._judge.all(said)]
        secret = [without_secret(one) for one in judged]
        plain = [self._judge.one(one) if one is not None else None for one in secret]
        # Looked up before the transaction: a view of a table that is being written is read anew at every look.
        told = (*said, *again, *(one for one in secret if one is not None))
        owners = [one for one in told if one.standing is Standing.OWNER]
        known = {said_as(one): memory for one in owners if (memory := self._repeats.of(one)) is not None}
        with self._ledger.writing() as entry:
            verdicts = [self._learned(entry, one, known, bare) for one, bare in zip(judged, plain, strict=True)]
            for candidate in again:
                self._add_gist(entry, candidate, known)
            also(entry, verdicts)
        return verdicts

    def _learned(
        self, entry: Entry, judged: Judged, known: dict[Words, Memory], plain: Judged | None = None
    ) -> Verdict:
        candidate, decision = judged.candidate, judged.ruling.decision
        if decision is Decision.REJECT:
            return self._refuse(entry, judged)
        before = known.get(said_as(candidate)) if candidate.standing is Standing.OWNER else None
        if before is not None and (decision is Decision.ACCEPT or before.approval is not None):
            return self._said_again(entry, judged, before, known)
        if plain is not None and plain.ruling.decision is Decision.ACCEPT:
            return self._kept_apart(entry, judged, self._learned(entry, plain, known))
        verdict = self._carry_out(entry, judged)
        sealed = self._ledger.get("memories", verdict.memory_id or "")
        if candidate.standing is Standing.OWNER and sealed is not None:
            known[said_as(candidate)] = memory_from(sealed)
        return verdict

    def _said_again(self, entry: Entry, judged: Judged, before: Memory, known: dict[Words, Memory]) -> Verdict:
        candidate = judged.candidate
        as_of = max(before.as_of, candidate.as_of or self._clock())
        is_new = before.origin.message != candidate.origin.message
        again = replace(self._with_gist(before, candidate), as_of=as_of, said=before.said + is_new)
        again = replace(again, expires_at=candidate.expires_at or again.expires_at)
        known[said_as(candidate)] = self._annotated(entry, before, again, judged.vector)
        entry.event("memory.repeated", memory=before.id, version=again.version, session=candidate.origin.session)
        return Verdict(Decision.ACCEPT, "said_again", "You said so before.", judged.findings, before.id)

    def _kept_apart(self, entry: Entry, judged: Judged, verdict: Verdict) -> Verdict:
        """Ask once whether to keep a secret; the words around it are remembered already."""
        sealed = self._ledger.get("memories", verdict.memory_id or "")
        items = (item_from(one) for one in self._ledger.all("queue"))
        asked = (item.memory.text for item in items if item is not None)
        if sealed is None or judged.candidate.text in asked:
            return verdict
        held = self._hold(entry, replace(judged, ruling=ASKED), target=memory_from(sealed))
        return replace(verdict, item_id=held.item_id)

    def _add_gist(self, entry: Entry, candidate: Candidate, known: dict[Words, Memory]) -> None:
        before = known.get(said_as(candidate))
        better = self._with_gist(before, candidate) if before is not None else None
        if before is not None and better is not None and better.gist != before.gist:
            ((_, vector),) = self._catalog.vectors([better])
            known[said_as(candidate)] = self._annotated(entry, before, better, vector)
            entry.event("memory.read_again", memory=before.id, session=candidate.origin.session)

    def _with_gist(self, memory: Memory, candidate: Candidate) -> Memory:
        if candidate.gist is None or not self._judge.is_harmless(candidate.gist.text):
            return memory
        return replace(memory, gist=candidate.gist)

    def _annotated(self, entry: Entry, before: Memory, memory: Memory, vector: Any) -> Memory:
        with self._transitions.watching(entry, [before, memory]) as related:
            return self._rows.replace(entry, before, memory, vector, related)

    def known(self, text: str, principal: str | None = None) -> Memory | None:
        """What says the same already: the owner's own words (that member's, if given), else a note of the agent's."""
        owners = Candidate(text, Standing.OWNER, Origin("user", principal=principal))
        return self._repeats.of(owners) or self._repeats.note(Candidate(text, Standing.HEARSAY, Origin(AGENT)))

    def note_waits(self, memory_id: str) -> Item | None:
        """Have a note of the agent's wait for the owner's word; nothing for what is none, or where no more fits."""
        with self._ledger.writing() as entry:
            sealed = self._ledger.get("memories", memory_id)
            memory = memory_from(sealed) if sealed is not None and sealed.verified else None
            if memory is None or memory.origin.channel != AGENT or memory.approval is not None:
                return None
            return self._queue.note(entry, memory)

    def weigh(self, candidate: Candidate) -> Verdict:
        """What would be decided on a candidate. Nothing is stored, queued or audited."""
        judged = self._judge.unembedded(candidate)
        return Verdict(judged.ruling.decision, judged.ruling.code, judged.ruling.reason, judged.findings)

    def admit_change(self, target: Memory, candidate: Candidate, *, via: str) -> Verdict:
        """Decide on new content for a memory; whatever is not accepted leaves the old entry as it was.

        People change what they may, and a source its own words. Anything else would retire somebody's words without
        being able to act itself: it is a proposal. So is whatever the agent wants changed, also where it quotes the
        owner: the words are the owner's then, but not the wish to put them in the place of others.
        """
        with WATCH.get()("gate"):
            judged = self._judge.one(candidate)
            rank = Standing.OWNER if target.approval or not target.verified else target.standing
            with self._ledger.writing() as entry:
                verdict = self._decided_change(entry, target, judged, rank, via)
                entry.told.append(verdict)
            return verdict

    def _decided_change(self, entry: Entry, target: Memory, judged: Judged, rank: Standing, via: str) -> Verdict:
        candidate = judged.candidate
        if judged.ruling.decision is Decision.REJECT:
            return self._refuse(entry, judged)
        if candidate.standing < rank:
            return self._hold(entry, replace(judged, ruling=_OUTRANKED), target=target)
        people = candidate.standing is Standing.OWNER and not self._evidence.is_shared()
        if via == AGENT or (not people and not self._may_change(target, candidate)):
            return self._hold(entry, replace(judged, ruling=_NOT_ITS_OWN), target=target)
        if judged.ruling.decision is Decision.QUARANTINE:
            return self._hold(entry, judged, target=target)
        return self._change(entry, target, judged)

    def _may_change(self, target: Memory, candidate: Candidate) -> bool:
        ours, theirs = target.origin, candidate.origin
        return (ours.channel, ours.principal) == (theirs.channel, theirs.principal)

    def readmit(self, version: Memory, *, by: str) -> Verdict:
        """Make a version that was kept the newest again, if today's screens pass it. It stands as it stood."""
        judged = self._judge.version(version)
        if not judged.may_return:
            refused = replace(judged, ruling=replace(judged.ruling, decision=Decision.REJECT))
            with self._ledger.writing() as entry:
                verdict = self._refuse(entry, refused)
                entry.told.append(verdict)
            return verdict
        now = self._clock()
        again = self._claim_keys.bound(replace(version, created_at=now, as_of=now, valid_from=None, seq=0))
        ((_, vector),) = self._catalog.vectors([again])
        with self._ledger.writing() as entry:
            self._burial.unbury(entry, version.text, by=by, reason="brought back")
            with self._transitions.watching(entry, [version, again]) as related:
                memory = self._rows.bring_back(entry, again, vector, related)
                entry.event("memory.restored", memory=memory.id, version=memory.version, by=by)
            verdict = Verdict(Decision.ACCEPT, "restored", "Brought back.", judged.findings, memory.id)
            entry.told.append(verdict)
        return verdict

    def propose_deletion(self, target: Memory, candidate: Candidate) -> Verdict:
        """Queue a wish to delete a memory; the memory stays until a person decides."""
        with self._ledger.writing() as entry:
            verdict = self._hold(entry, Judged(candidate, _DELETION), target=target, kind="deletion")
            entry.told.append(verdict)
        return verdict

    def amended(self, item: Item, text: str) -> tuple[Item, Verdict]:
        """An item with other words, and what today's screens make of those as a person's own. Only what would be
        accepted may take the place of what was held; it is still from where the item came from.
        """
        memory = item.memory
        candidate = Candidate(
            text=text,
            standing=Standing.OWNER,
            origin=memory.origin,
            kind=memory.kind,
            topics=memory.topics,
            entities=memory.entities,
            metadata=memory.metadata,
            as_of=memory.as_of,
            expires_at=memory.expires_at,
        )
        judged = self._judge.unembedded(candidate)
        if judged.ruling.decision is not Decision.ACCEPT:
            refused = replace(judged, ruling=replace(judged.ruling, decision=Decision.REJECT))
            with self._ledger.writing() as entry:
                return item, self._refuse(entry, refused)
        made = replace(self._judge.memory(judged), id=memory.id, standing=memory.standing, created_at=memory.created_at)
        verdict = Verdict(Decision.ACCEPT, judged.ruling.code, judged.ruling.reason, judged.findings)
        return replace(item, memory=made, findings=judged.findings), verdict

    def admit_approved(self, entry: Entry, item: Item, approval: Approval) -> tuple[Memory, Effects]:
        """Store what a reviewer let in, inside the reviewer's transaction; says what that did."""
        # A note that is in the keep already becomes what was approved; it is not stored a second time.
        is_stored = item.kind in ("change", "memory") and item.target
        target = self._ledger.get("memories", item.target) if is_stored and item.target else None
        if item.kind == "contest":
            target = self._ledger.get("memories", item.memory.id)
            if target is None or not target.verified:
                raise UnknownId("The memory that this item is about is gone already.")
            item = replace(item, memory=memory_from(target))
        own_id = item.memory.id if item.kind == "derived" else new_id("mem")
        approved = replace(item.memory, id=own_id, approval=approval, screened="", created_at=approval.at)
        cleared = self._evidence.note(entry, approved.text, Standing.OWNER, reviewed=True)
        ((_, vector),) = self._catalog.vectors([approved])
        watched = [approved, memory_from(target)] if target else [approved]
        with self._transitions.watching(entry, watched) as related:
            if target is not None:
                stored = self._rows.replace(entry, memory_from(target), approved, vector, related)
            else:
                stored = self._rows.bring_back(entry, approved, vector, related)
            entry.event("memory.approved", memory=stored.id, version=stored.version, item=item.id)
        before = memory_from(target) if target is not None else None
        took = (before.id, before.version) if before is not None else None
        return stored, Effects(made=(stored.id, stored.version), took=took, cleared=cleared)

    def _let_in(self, entry: Entry, judged: Judged) -> Verdict:
        origin = judged.candidate.origin
        return (self._move_in if origin.message and is_moved(origin) else self._carry_out)(entry, judged)

    def _move_in(self, entry: Entry, judged: Judged) -> Verdict:
        """What the policy says, once for each entry of a source; it waits for its owner, also where it informs."""
        if self._queue.knows_moved(judged.candidate.origin):
            return Verdict(Decision.ACCEPT, "moved_before", "It was moved in before.", judged.findings)
        is_held = judged.ruling.decision is Decision.QUARANTINE
        verdict = self._carry_out(entry, judged) if not is_held else None
        sealed = self._ledger.get("memories", verdict.memory_id or "") if verdict is not None else None
        memory = memory_from(sealed) if sealed is not None else self._judge.memory(judged)
        if is_held:
            self._evidence.note(entry, memory.text, memory.standing)
        item = self._queue.put_moved(
            entry,
            memory,
            judged.ruling,
            findings=judged.findings,
            contests=self.disagreeing(memory),
            target=memory.id if sealed is not None else None,
        )
        if verdict is not None:
            return replace(verdict, item_id=item.id)
        return Verdict(Decision.QUARANTINE, item.code, item.reason, judged.findings, item_id=item.id)

    def disagreeing(self, memory: Memory) -> tuple[str, ...]:
        """The memories that answer the same otherwise as one that was moved in, also if the owner had said it."""
        owners = self._claim_keys.bound(replace(memory, standing=Standing.OWNER, origin=Origin("user")))
        found = (*self._transitions.disagreeing(memory), *self._transitions.disagreeing(owners))
        return tuple(dict.fromkeys(found))

    def _carry_out(self, entry: Entry, judged: Judged) -> Verdict:
        ruling = judged.ruling
        if ruling.decision is Decision.QUARANTINE:
            return self._hold(entry, judged)
        memory = self._judge.memory(judged)
        with self._transitions.watching(entry, [memory]) as related:
            memory = self._rows.store(entry, memory, judged.vector, related)
            self._evidence.note(entry, memory.text, memory.standing)
            _note(entry, "memory.stored", memory, judged)
        if related:
            self._contest(entry, memory)
        return Verdict(ruling.decision, ruling.code, ruling.reason, judged.findings, memory.id)

    def _contest(self, entry: Entry, memory: Memory) -> None:
        """Ask a person about a memory that contradicts one that acts, and cannot take its place."""
        for elder in self._transitions.acts(memory).place.contests:
            sealed = self._ledger.get("memories", elder)
            if sealed is not None and self._transitions.acts(memory_from(sealed)).may_act:
                self._queue.contest(entry, memory, elder, claim_in(memory).key)

    def _refuse(self, entry: Entry, judged: Judged) -> Verdict:
        ruling, candidate = judged.ruling, judged.candidate
        if ruling.decision is not Decision.REJECT:
            reason = "Nothing of the batch was stored, because another entry in it was rejected."
            return Verdict(Decision.REJECT, "batch_refused", reason, judged.findings)
        if candidate.standing is Standing.HEARSAY:
            self._evidence.note(entry, candidate.text, candidate.standing)
        entry.event(
            "memory.rejected",
            text=self._ledger.digest("text", candidate.text),
            code=ruling.code,
            rules=[finding.rule_id for finding in judged.findings],
            channel=candidate.origin.channel,
            principal=candidate.origin.principal,
            standing=candidate.standing.label,
        )
        return Verdict(ruling.decision, ruling.code, ruling.reason, judged.findings)

    def _hold(self, entry: Entry, judged: Judged, *, target: Memory | None = None, kind: str | None = None) -> Verdict:
        origin, ruling = judged.candidate.origin, judged.ruling
        tag = open_tag(origin.channel, origin.principal)
        if not self._queue.has_room(entry, tag):
            return self._refuse(entry, replace(judged, ruling=_QUEUE_FULL))
        memory = self._judge.memory(judged)
        self._evidence.note(entry, memory.text, memory.standing)
        item = self._queue.put(
            entry,
            memory,
            ruling,
            kind=kind or ("change" if target else "memory"),
            tag=tag,
            findings=judged.findings,
            target=target.id if target else None,
            contests=self._transitions.contested(memory) if kind is None else (),
        )
        return Verdict(Decision.QUARANTINE, ruling.code, ruling.reason, judged.findings, item_id=item.id)

    def _change(self, entry: Entry, target: Memory, judged: Judged) -> Verdict:
        memory = self._judge.memory(judged)
        with self._transitions.watching(entry, [target, memory]) as related:
            memory = self._rows.replace(entry, target, memory, judged.vector, related)
            self._evidence.note(entry, memory.text, memory.standing)
            _note(entry, "memory.changed", memory, judged)
        self._contest(entry, memory)
        return Verdict(Decision.ACCEPT, "changed", "Changed.", judged.findings, memory.id)


def _note(entry: Entry, kind: str, memory: Memory, judged: Judged) -> None:
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
