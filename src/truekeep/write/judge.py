"""The judge: what is found in a candidate, what the policy makes of that, and the memory it would become.

Nothing is written here; what was decided is carried out by the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from truekeep.claims.contradictions import ClaimKeys, claim_in
from truekeep.records.rows import Vector
from truekeep.stores.records import new_id
from truekeep.text.analysis import Analysis, analysed
from truekeep.trust.candidate import fields_of
from truekeep.trust.influence import valid_time
from truekeep.trust.policy import Policy, Ruling, blocking, decide
from truekeep.types import Candidate, Decision, Finding, Memory, Standing

if TYPE_CHECKING:
    from truekeep.quarantine.tombstones import Burial
    from truekeep.records.catalog import Catalog
    from truekeep.screens.panel import Screening
    from truekeep.sessions.channels import Mutes

Vectors = Iterable[tuple[int, Vector | None]]
"""The vectors of a batch, each with its place in it."""

_MOST_HELD = 256
"""Analyses are large beside their texts, so those of a long batch are made again when its turn comes to be stored."""
_MUTED = Ruling(Decision.REJECT, "source_muted", "A person muted this source.")


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with what was found in it and what the policy makes of that."""

    candidate: Candidate
    ruling: Ruling
    findings: tuple[Finding, ...] = ()
    vector: Vector | None = None
    read: Analysis | None = None
    """The analysis of its text, held until the write is done, so that claims, marks and card are made from it, too."""

    @property
    def may_return(self) -> bool:
        """Whether it may be what it was before: what nothing was found in need not be accepted anew."""
        return not self.findings or self.ruling.decision is Decision.ACCEPT

    def held_if_owners(self) -> Judged:
        """What the owner said and the screens would refuse waits for the owner instead."""
        ruling = self.ruling
        if ruling.decision is not Decision.REJECT or self.candidate.standing is not Standing.OWNER:
            return self
        why, code = f"Held for you to look at. {ruling.reason}", ruling.code.replace("_rejected", "_held")
        return replace(self, ruling=replace(ruling, decision=Decision.QUARANTINE, code=code, reason=why))


class Judge:
    """Judges the candidates of one keep."""

    def __init__(
        self,
        catalog: Catalog,
        claim_keys: ClaimKeys,
        burial: Burial,
        mutes: Mutes,
        panel: Screening,
        policy: Policy,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = catalog
        self._claim_keys = claim_keys
        self._burial = burial
        self._mutes = mutes
        self._panel = panel
        self._policy = policy
        self._clock = clock

    def all(self, candidates: Sequence[Candidate], vectors: Vectors | None = None) -> list[Judged]:
        """Judge a batch, in order; ``vectors`` are the catalogue's, where it has embedded the batch already."""
        embedded = self._catalog.vectors(candidates) if vectors is None else vectors
        held = len(candidates) <= _MOST_HELD
        judged = {place: self._ruled(candidates[place], vector, held=held) for place, vector in embedded}
        return [judged[place] for place in range(len(candidates))]

    def one(self, candidate: Candidate) -> Judged:
        """Judge a candidate."""
        return self.all([candidate])[0]

    def unembedded(self, candidate: Candidate) -> Judged:
        """Judge a candidate that is not to be stored now, and needs no vector."""
        return self._ruled(candidate, None)

    def version(self, memory: Memory) -> Judged:
        """Judge what was let in once, by today's screens alone: people bring back what they muted or buried."""
        findings = tuple(self._panel.examine(fields_of(memory), memory.standing))
        candidate = Candidate(memory.text, memory.standing, memory.origin)
        return Judged(candidate, decide(self._policy, memory.standing, findings), findings)

    def passes(self, memory: Memory) -> bool:
        """Whether what is made of memories that were let in would be let in as it is: no tombstone lies over it, and
        today's screens let it pass.
        """
        if self._burial.over(memory.text, memory.standing):
            return False
        return memory.screened == self._panel.digest or self.version(memory).may_return

    def memory(self, judged: Judged) -> Memory:
        """The memory that a candidate becomes, if it becomes one."""
        candidate, now = judged.candidate, self._clock()
        as_of = candidate.as_of or now
        valid_from, valid_until = valid_time(claim_in(candidate), as_of)
        memory = Memory(
            id=new_id("mem"),
            text=candidate.text,
            standing=candidate.standing,
            origin=candidate.origin,
            created_at=now,
            as_of=as_of,
            kind=candidate.kind,
            topics=candidate.topics,
            entities=candidate.entities,
            metadata=candidate.metadata,
            expires_at=candidate.expires_at,
            screened="" if judged.findings else self._panel.digest,
            valid_from=valid_from,
            valid_until=valid_until,
            gist=candidate.gist if candidate.gist is not None and self.is_harmless(candidate.gist.text) else None,
            question=candidate.question if self.is_harmless(candidate.question) else "",
        )
        return self._claim_keys.bound(memory)

    def is_harmless(self, words: str) -> bool:
        """Whether the agent's words beside a memory may stand there; the memory does not depend on them."""
        findings = self._panel.examine({"text": words}, Standing.ENROLLED) if words else []
        return not blocking(self._policy, Standing.HEARSAY, findings)

    def _ruled(self, candidate: Candidate, vector: Vector | None, *, held: bool = True) -> Judged:
        if self._mutes.covers(candidate):
            return Judged(candidate, _MUTED, (), vector)
        read = analysed(candidate.text)
        findings = self._burial.over(candidate.text, candidate.standing)
        findings = findings or self._panel.examine(fields_of(candidate), candidate.standing)
        ruling = decide(self._policy, candidate.standing, findings)
        return Judged(candidate, ruling, tuple(findings), vector, read if held else None)
