"""Which sessions are to be learned from, when, and by whom: when they end, after a quiet spell, or now.

What the owner said is remembered by itself (the setting ``learn``). A strategy that finds gists is a job of its own, so
that a model that fails delays its gists and never the owner's words.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from truekeep.errors import InvalidRequest, KeepClosed, TruekeepError
from truekeep.extract import events
from truekeep.extract.jobs import (
    DONE,
    WAITING,
    Job,
    Pace,
    Task,
    asked,
    failed,
    is_ready,
    next_moment,
    ready,
    released,
    taken,
)
from truekeep.extract.learning import VERBATIM
from truekeep.extract.run import Distilled, Distiller, Overtaken
from truekeep.extract.worker import Worker
from truekeep.trust.origin import require, session_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from truekeep.config import Settings
    from truekeep.extract.job_rows import SealedJobs
    from truekeep.extract.llm import ChatModel
    from truekeep.sessions.transcripts import Observation
    from truekeep.stores.chain import Touched
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger
    from truekeep.types import Channel

CUSTOM = "custom"
OFF = "off"
OnDone = Callable[[Distilled], None]
"""Told of every background run, also of one that failed."""


class Extractions:
    """The queue of one keep, and the worker that empties it."""

    def __init__(
        self,
        ledger: Ledger,
        jobs: SealedJobs,
        distiller: Distiller,
        channel: Callable[[str], Channel],
        settings: Settings,
        clock: Callable[[], datetime],
        embed_more: Callable[[], bool],
    ) -> None:
        self._ledger = ledger
        self._embed_more = embed_more
        self._jobs = jobs
        self._distiller = distiller
        self._channel = channel
        self._learned = _strategies(settings.learn)
        self._pace = Pace(
            timedelta(seconds=settings.learn_debounce_seconds), timedelta(seconds=settings.learn_delay_seconds)
        )
        self._clock = clock
        self._name = secrets.token_hex(8)
        self._model: ChatModel | None = None
        self._on_done: OnDone | None = None
        self._worker: Worker | None = None
        self._is_own_worker = self._is_started = False
        for strategy in self._learned:
            distiller.strategy(Task("settings", strategy))
        ledger.watch(self._note)

    # Asking

    def queue(
        self,
        session: str,
        strategy: str = "discrete",
        *,
        via: str = "agent",
        prompt: str | None = None,
        max_summary_length: int | None = None,
    ) -> Job:
        """Have a session distilled once it is quiet. What could not be done is refused now, not in the background."""
        task = self._task(session, strategy, via, prompt, max_summary_length)
        with self._ledger.writing() as entry:
            job = asked(self._jobs.get(task), task, self._clock(), self._pace)
            self._jobs.put(entry, job)
            entry.event("extraction.queued", session=task.session, strategy=task.strategy, by=via)
        return job

    def heard(self, entry: Entry, seen: Observation) -> None:
        """The owner said something: the session is queued in the same transaction, unless nothing is to be learned."""
        session = seen.session
        for strategy in self._learned if self._distiller.may_learn(session) else ():
            task = Task(session, strategy)
            known = self._jobs.get(task)
            job = asked(known, task, self._clock(), self._pace)
            # Learning covers what is said from now on, not what a session held before it was turned on.
            self._jobs.put(entry, job if known else replace(job, through=self._distiller.last_before(session)))

    def ended(self, session: str) -> None:
        """The session is over: what the owner said in it is remembered at once, and gists need not wait any longer.

        What fails stays queued.
        """
        name = session_name(session)
        if not self._waiting(name):
            return
        mine = None
        with self._ledger.writing() as entry:
            now = self._clock()
            for job in self._waiting(name):
                due = replace(job, due=min(job.due, now))
                if job.task.strategy == VERBATIM:
                    # Taken in the transaction that makes it due, also from a worker that is at it: whoever ends a
                    # session finds the owner's words remembered, and does not have to wait for another.
                    due = mine = taken(due, now, self._lease())
                self._jobs.put(entry, due)
            entry.event("session.ended", session=session)
        if mine is not None:
            self._attempt(mine, None)

    def _waiting(self, session: str) -> list[Job]:
        jobs = (self._jobs.get(Task(session, one)) for one in self._learned)
        return [job for job in jobs if job is not None and job.state == WAITING]

    def jobs(self) -> list[Job]:
        """Every job with its state, its failures and when it is due."""
        return self._jobs.all()

    # Doing

    def now(
        self,
        session: str,
        strategy: str = "discrete",
        *,
        via: str = "agent",
        prompt: str | None = None,
        max_summary_length: int | None = None,
        model: ChatModel | None = None,
    ) -> Distilled:
        """Distil a session at once. If it fails, it stays queued and the error is raised."""
        task = self._task(session, strategy, via, prompt, max_summary_length)
        known = self._jobs.get(task) or Job(task, self._clock(), self._clock(), state=DONE)
        if known.state == DONE and not self._distiller.has_unread(known):
            return Distilled(task)
        with self._ledger.writing() as entry:
            now = self._clock()
            # Whoever asks for it now takes it over; the one that had it will find that out when it promotes.
            job = taken(asked(self._jobs.get(task), task, now, self._pace), now, self._lease())
            self._jobs.put(entry, job)
            entry.event("extraction.taken", session=task.session, strategy=task.strategy, by=via)
        try:
            return self._distiller.run(job, model)
        except Exception as error:
            self._put_back(job, error)
            raise

    def run(self, model: ChatModel | None = None) -> list[Distilled]:
        """Do everything that is due; a failure is in the answer, and its session stays queued."""
        done = list(self._runs(model))
        self._embed_more()
        return done

    def start(self, model: ChatModel | None = None, on_done: OnDone | None = None) -> None:
        """Empty the queue in the background from now on, with a model for gists, until the keep is closed."""
        if self._is_started:
            raise InvalidRequest("The background extraction runs already.", code="extraction_running")
        self._model, self._on_done, self._is_started = model, on_done, True
        self._worker = self._worker or Worker(self)

    def learn_in_background(self) -> None:
        """Let a thread of this keep's own do what is due. It begins with the first thing that waits."""
        self._is_own_worker = True
        if self._learned and self._jobs.waiting():
            self._worker = self._worker or Worker(self)

    def catch_up(self) -> None:
        """Remember what the owner said in every session, also where it is not quiet yet; what fails stays queued."""
        for job in self._jobs.waiting():
            if job.task.strategy == VERBATIM:
                self.ended(job.task.session)

    def stop(self) -> None:
        """End the background extraction; what it was at is put back, so that the next worker need not wait."""
        worker, self._worker, self._is_own_worker, self._is_started = self._worker, None, False, False
        if worker is None:
            return
        worker.stop()
        self._release()
        worker.join(1.0)

    def work(self) -> float | None:
        """One round of the background: what is due, and the seconds until something is."""
        for done in self._runs(self._model):
            if self._on_done is not None:
                self._on_done(done)
            if self._worker is None:
                return None
        if self._embed_more():
            return 0.0
        moment = next_moment(self._jobs.waiting())
        return None if moment is None else (moment - self._clock()).total_seconds()

    def _runs(self, model: ChatModel | None) -> Iterator[Distilled]:
        for job in ready(self._jobs.waiting(), self._clock()):
            mine = self._take(job.task)
            if mine is not None:
                yield self._attempt(mine, model)

    def _task(self, session: str, strategy: str, via: str, prompt: str | None, length: int | None) -> Task:
        channel = self._channel(via)
        require(channel, "write")
        task = Task(session_name(session), strategy, prompt, length)
        if strategy == CUSTOM or prompt is not None:
            require(channel, "custom-prompts")
            if strategy != CUSTOM or prompt is None:
                raise InvalidRequest(
                    "The strategy custom goes with the name of an approved prompt, and only that strategy does.",
                    code="strategy_options",
                    hint="Add one with keep.prompts.add or 'truekeep prompts add', and have it approved.",
                )
        self._distiller.strategy(task)
        return task

    def _take(self, task: Task) -> Job | None:
        with self._ledger.writing() as entry:
            now, current = self._clock(), self._jobs.get(task)
            if current is None or not is_ready(current, now):
                return None
            job = taken(current, now, self._lease())
            self._jobs.put(entry, job)
            entry.event("extraction.taken", session=task.session, strategy=task.strategy, by=self._name)
            return job

    def _lease(self) -> str:
        """A new name for each taking, so that of two threads of this keep only the later one has the job."""
        return f"{self._name}.{secrets.token_hex(4)}"

    def _attempt(self, job: Job, model: ChatModel | None) -> Distilled:
        try:
            return self._distiller.run(job, model)
        except KeepClosed:
            raise
        except Exception as error:
            return Distilled(job.task, code=self._put_back(job, error))

    def _put_back(self, job: Job, error: Exception) -> str:
        """Queue a job again after a failure, unless somebody else has it by now; returns the failure's code."""
        code = error.code if isinstance(error, TruekeepError) else "internal_error"
        events.emit(events.EXTRACTION_FAILED, code=code, strategy=job.task.strategy, error=type(error).__name__)
        if isinstance(error, KeepClosed | Overtaken):
            return code
        with self._ledger.writing() as entry:
            current = self._jobs.get(job.task)
            if current is not None and current.leased_by == job.leased_by:
                self._jobs.put(entry, failed(current, code, self._clock(), self._pace))
                entry.event("extraction.failed", session=job.task.session, strategy=job.task.strategy, code=code)
        return code

    def _release(self) -> None:
        try:
            held = [job for job in self._jobs.waiting() if job.leased_by.startswith(self._name)]
            if held:
                with self._ledger.writing() as entry:
                    for job in held:
                        self._jobs.put(entry, released(job))
                    entry.event("extraction.released", jobs=len(held))
        except TruekeepError:
            # The lease runs out by itself.
            return

    def _note(self, changed: Sequence[Touched]) -> None:
        if any(table == "jobs" for table, _, _ in changed):
            if self._worker is None and self._is_own_worker:
                self._worker = Worker(self)
            elif self._worker is not None:
                self._worker.wake()


def _strategies(learn: str) -> tuple[str, ...]:
    if learn in (OFF, VERBATIM):
        return () if learn == OFF else (VERBATIM,)
    return VERBATIM, learn
