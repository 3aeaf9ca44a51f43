"""Distil: a session's messages become candidates, and a batch of them goes through the gate as one.

In the transaction that stores a batch it is also written down how far the session was read, so that nothing is
promoted twice and nothing is left out, wherever a process dies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from truekeep.errors import TruekeepError
from truekeep.extract.conversation import Extraction, Message
from truekeep.extract.job_rows import SealedJobs
from truekeep.extract.jobs import Job, Task, advanced, candidate_key, finished, unpromoted, unread
from truekeep.extract.library import PromptLibrary
from truekeep.extract.strategies import Custom, Strategy, make_strategy
from truekeep.gate import Gate
from truekeep.provenance import Bound, Provenance
from truekeep.quote import Proof
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger
from truekeep.talks import Talks
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.extract.llm import ChatModel

_MOST_MESSAGES = 100
_MOST_CHARACTERS = 15_000


class Overtaken(TruekeepError):
    """Another worker took the job over; what this one found is dropped, because the other will find it too."""

    code = "extraction_overtaken"
    default_hint = "Nothing is lost; the worker that has the job now goes on with it."


@dataclass(frozen=True, slots=True)
class Taken:
    """One candidate: what it says, whether its quotes prove it to be the owner's word, and what the gate decided."""

    extraction: Extraction
    proof: Proof
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Distilled:
    """What came of one run over a session."""

    task: Task
    taken: tuple[Taken, ...] = ()
    messages: int = 0
    """How many messages were read; none when nothing was new."""
    repeated: int = 0
    """How many candidates had been through the gate before."""
    code: str = ""
    """Why it stopped early, if it did; what was not read stays queued."""

    def of(self, decision: Decision) -> tuple[Taken, ...]:
        """The candidates on which that was decided."""
        return tuple(one for one in self.taken if one.verdict.decision is decision)


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch on its way through the gate."""

    job: Job
    strategy: Strategy
    messages: tuple[Message, ...]

    @property
    def prompt(self) -> str | None:
        """The hash of the custom prompt, if one is used."""
        return self.strategy.prompt_hash if isinstance(self.strategy, Custom) else None


class Distiller:
    """Extracts from the sessions of one keep."""

    def __init__(
        self,
        ledger: Ledger,
        jobs: SealedJobs,
        talks: Talks,
        provenance: Provenance,
        gate: Gate,
        prompts: PromptLibrary,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._jobs = jobs
        self._talks = talks
        self._provenance = provenance
        self._gate = gate
        self._prompts = prompts
        self._clock = clock

    def strategy(self, task: Task) -> Strategy:
        """The task's strategy; a custom prompt has to be in the library and approved."""
        options: dict[str, Any] = {}
        if task.max_summary_length is not None:
            options["max_summary_length"] = task.max_summary_length
        if task.prompt is not None:
            options["custom_prompt"] = self._prompts.usable(task.prompt).text
        return make_strategy(task.strategy, **options)

    def has_unread(self, job: Job) -> bool:
        """Whether anything was said or read in the session that its last run has not seen."""
        return bool(unread(job, self._talks.of(job.task.session).conversation.messages))

    def run(self, job: Job, model: ChatModel | None = None) -> Distilled:
        """Everything unread in a job that the caller has taken, batch by batch, each in a transaction of its own."""
        strategy, talk = self.strategy(job.task), self._talks.of(job.task.session)
        done = Distilled(job.task)
        waiting = unread(job, talk.conversation.messages)
        while waiting:
            batch = _Batch(job, strategy, _next(waiting))
            found = strategy.extract(replace(talk.conversation, messages=batch.messages), model)
            done = self._promote(batch, self._provenance.bound(found, talk), done)
            waiting = waiting[len(batch.messages) :]
        with self._ledger.writing() as entry:
            self._jobs.put(entry, finished(self._own(job), job.asks))
            entry.event("session.read", session=job.task.session, strategy=job.task.strategy)
        return done

    def _promote(self, batch: _Batch, bound: Sequence[Bound], done: Distilled) -> Distilled:
        session = batch.job.task.session
        keyed = [(self._key(one), one) for one in bound]
        while True:
            fresh = unpromoted(self._jobs.promoted(session), keyed)
            candidates = [one.candidate for one in fresh.values()]
            try:
                verdicts = self._gate.admit_all(
                    candidates, skip_rejected=True, also=partial(self._record, batch, frozenset(fresh))
                )
            except _PromotedMeanwhile:
                continue
            pairs = zip(fresh.values(), verdicts, strict=True)
            return replace(
                done,
                taken=(*done.taken, *(Taken(one.extraction, one.proof, verdict) for one, verdict in pairs)),
                messages=done.messages + len(batch.messages),
                repeated=done.repeated + len(bound) - len(fresh),
            )

    def _record(self, batch: _Batch, keys: frozenset[str], entry: Entry, verdicts: Sequence[Verdict]) -> None:
        """Note how far the session was read, in the transaction that stores what was found in it."""
        task, current = batch.job.task, self._own(batch.job)
        if keys & self._jobs.promoted(task.session):
            raise _PromotedMeanwhile
        if isinstance(batch.strategy, Custom):
            # A prompt that was disabled while its model was thinking makes nothing any more.
            self._prompts.require_approved(batch.strategy.custom_prompt)
        self._jobs.put(entry, advanced(current, batch.messages[-1].id, self._clock()))
        if keys:
            self._jobs.promote(entry, task.session, keys)
        counts = {decision.value: sum(one.decision is decision for one in verdicts) for decision in Decision}
        entry.event(
            "session.extracted",
            session=task.session,
            strategy=task.strategy,
            prompt=batch.prompt,
            messages=len(batch.messages),
            **counts,
        )

    def _own(self, job: Job) -> Job:
        """The job as it is stored now, if the caller still has it."""
        current = self._jobs.get(job.task)
        if current is None or current.leased_by != job.leased_by:
            raise Overtaken("Another worker has taken this job over.")
        return current

    def _key(self, one: Bound) -> str:
        return self._ledger.digest("candidate", candidate_key(one.extraction, one.candidate.standing.label))[:32]


class _PromotedMeanwhile(Exception):
    """Another task of the session promoted one of these candidates between the check and the transaction."""


def _next(messages: Sequence[Message]) -> tuple[Message, ...]:
    """As many messages as are read before progress is written down; at least one."""
    size = 0
    for count, message in enumerate(messages[:_MOST_MESSAGES]):
        size += len(message.text)
        if count and size > _MOST_CHARACTERS:
            return tuple(messages[:count])
    return tuple(messages[:_MOST_MESSAGES])
