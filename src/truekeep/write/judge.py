"""The judge: what is found in a candidate, what the policy makes of that, and the memory it would become.

Nothing is written here; what was decided is carried out by the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from truekeep.burial import Burial
from truekeep.candidate import fields_of
from truekeep.catalog import Catalog
from truekeep.influence import valid_time
from truekeep.memory_rows import Vector
from truekeep.mutes import Mutes
from truekeep.policy import Policy, Ruling, decide
from truekeep.screens.panel import Screening
from truekeep.statements import Statements, claim_in
from truekeep.stores.records import new_id
from truekeep.types import Candidate, Decision, Finding, Memory

Vectors = Iterable[tuple[int, Vector | None]]
"""The vectors of a batch, each with its place in it."""

_MUTED = Ruling(Decision.REJECT, "source_muted", "A person muted this source.")


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with what was found in it and what the policy makes of that."""

    candidate: Candidate
    ruling: Ruling
    findings: tuple[Finding, ...] = ()
    vector: Vector | None = None

    @property
    def may_return(self) -> bool:
        """Whether it may be what it was before: what nothing was found in need not be accepted anew."""
        return not self.findings or self.ruling.decision is Decision.ACCEPT


class Judge:
    """Judges the candidates of one keep."""

    def __init__(
        self,
        catalog: Catalog,
        statements: Statements,
        burial: Burial,
        mutes: Mutes,
        panel: Screening,
        policy: Policy,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = catalog
        self._statements = statements
        self._burial = burial
        self._mutes = mutes
        self._panel = panel
        self._policy = policy
        self._clock = clock

    def all(self, candidates: Sequence[Candidate], vectors: Vectors | None = None) -> list[Judged]:
        """Judge a batch, in order; ``vectors`` are the catalogue's, where it has embedded the batch already."""
        embedded = self._catalog.vectors(candidates) if vectors is None else vectors
        judged = {place: self._ruled(candidates[place], vector) for place, vector in embedded}
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
        )
        return self._statements.bound(memory)

    def _ruled(self, candidate: Candidate, vector: Vector | None) -> Judged:
        if self._mutes.covers(candidate):
            return Judged(candidate, _MUTED, (), vector)
        known = vector if self._catalog.is_screened() else None
        findings = self._burial.over(candidate.text, candidate.standing)
        findings = findings or self._panel.examine(fields_of(candidate), candidate.standing, known)
        return Judged(candidate, decide(self._policy, candidate.standing, findings), tuple(findings), vector)
