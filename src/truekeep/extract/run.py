"""A run over a session: its messages become passages and gists, and a batch of them goes through the gate as one.

In the transaction that stores a batch it is also written down how far the session was read, so that nothing is
promoted twice and nothing is left out, wherever a process dies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.extract.jobs import Job, Task, advanced, candidate_key, finished, unpromoted, unread
from truekeep.extract.learning import VERBATIM, Learned, Learner
from truekeep.extract.strategies import Custom, Strategy, make_strategy
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.extract.conversation import Extraction, Message
    from truekeep.extract.conversation_view import ConversationView
    from truekeep.extract.job_rows import SealedJobs
    from truekeep.extract.library import PromptLibrary
    from truekeep.extract.llm import ChatModel
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger
    from truekeep.write.gate import Gate

_MOST_MESSAGES = 100  # of one reading; the rest is read in the next
_MOST_CHARACTERS = 15_000  # what a small model reads without losing the middle


class Overtaken(TruekeepError):
    """Another worker took the job over; what this one found is dropped, because the other will find it too."""

    code = "extraction_overtaken"
    default_hint = "Nothing is lost; the worker that has the job now goes on with it."


@dataclass(frozen=True, slots=True)
class Taken:
    """Something that was learned: what it says and rests on, whether it is the owner's words, what the gate decided."""

    extraction: Extraction
    is_owners: bool
    verdict: Verdict
    gist: str = ""
    """The reading that was put beside it."""


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
    strategy: Strategy | None
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
        conversation_view: ConversationView,
        learner: Learner,
        gate: Gate,
        prompts: PromptLibrary,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._jobs = jobs
        self._conversation_view = conversation_view
        self._learner = learner
        self._gate = gate
        self._prompts = prompts
        self._clock = clock

    def strategy(self, task: Task) -> Strategy | None:
        """What finds gists; a custom prompt has to be in the library and approved. The owner's words need none."""
        if task.strategy == VERBATIM:
            return None
        options: dict[str, Any] = {}
        if task.max_summary_length is not None:
            options["max_summary_length"] = task.max_summary_length
        if task.prompt is not None:
            options["custom_prompt"] = self._prompts.usable(task.prompt).text
        return make_strategy(task.strategy, **options)

    def may_learn(self, session: str) -> bool:
        """Whether the host lets this session be learned from."""
        return self._conversation_view.may_learn(session)

    def last_before(self, session: str) -> str:
        """The message before the newest one."""
        return self._conversation_view.last_before(session)

    def has_unread(self, job: Job) -> bool:
        """Whether anything was said or read in the session that its last run has not seen."""
        return bool(unread(job, self._conversation_view.of(job.task.session).conversation.messages))

    def run(self, job: Job, model: ChatModel | None = None) -> Distilled:
        """Everything unread in a job that the caller has taken, batch by batch, each in a transaction of its own."""
        strategy, talk = self.strategy(job.task), self._conversation_view.of(job.task.session)
        done = Distilled(job.task)
        waiting = unread(job, talk.conversation.messages)
        while waiting:
            batch = _Batch(job, strategy, _next(waiting))
            part = replace(talk.conversation, messages=batch.messages)
            found = strategy.extract(part, model) if strategy is not None else ()
            done = self._promote(batch, self._learner.learned(talk, batch.messages, found), done)
            waiting = waiting[len(batch.messages) :]
        with self._ledger.writing() as entry:
            self._jobs.put(entry, finished(self._own(job), job.asks))
            entry.event("session.read", session=job.task.session, strategy=job.task.strategy)
        return done

    def _promote(self, batch: _Batch, learned: Sequence[Learned], done: Distilled) -> Distilled:
        session = batch.job.task.session
        keyed = [(self._key(one), one) for one in learned]
        while True:
            fresh = unpromoted(self._jobs.promoted(session), keyed)
            again = [one.candidate for key, one in keyed if key not in fresh and one.candidate.gist]
            said = [one.candidate for one in fresh.values()]
            try:
                verdicts = self._gate.learn(said, again, partial(self._record, batch, frozenset(fresh)))
            except _PromotedMeanwhile:
                continue
            except InvalidRequest as error:
                if error.code != "memory_changed":
                    raise
                continue  # another worker refreshed one of these memories meanwhile: look again
            pairs = zip(fresh.values(), verdicts, strict=True)
            taken = (Taken(one.extraction, one.is_owners, told, _gist(one)) for one, told in pairs)
            return replace(
                done,
                taken=(*done.taken, *taken),
                messages=done.messages + len(batch.messages),
                repeated=done.repeated + len(learned) - len(fresh),
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

    def _key(self, one: Learned) -> str:
        place = one.candidate.origin.message or "" if one.is_owners else ""
        label = f"{one.candidate.standing.label} {place}".strip()
        return self._ledger.digest("candidate", candidate_key(one.extraction, label))[:32]


def _gist(learned: Learned) -> str:
    return learned.candidate.gist.text if learned.candidate.gist is not None else ""


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
