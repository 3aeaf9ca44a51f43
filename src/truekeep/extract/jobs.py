"""The queue of sessions to extract from: debounced, crash-proof, and never promoted twice.

Pure: a job is a value, and each step is a function from one state to the next. Every step is stored before the
next is taken, and what was promoted is stored in the transaction that promotes it, so a crash at any point leaves
the job where it can be taken again, with nothing lost and nothing to be done twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from truekeep.extract.conversation import Extraction, Message

LEASE = timedelta(minutes=15)
MOST_ATTEMPTS = 8  # with the back-off that is most of a day; then a person is asked
WAITING, DONE, STUCK = "waiting", "done", "stuck"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a session has to be quiet, and how long it may put extraction off by never being quiet."""

    debounce: timedelta = timedelta(seconds=30)
    longest: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done with a session; two tasks of one session go on side by side."""

    session: str
    strategy: str
    prompt: str | None = None
    """For the strategy ``custom``: the name of a prompt in the keep's library."""
    max_summary_length: int | None = None

    @property
    def id(self) -> str:
        """The name of its job; no session's name has a space in it."""
        return " ".join(part for part in (self.session, self.strategy, self.prompt) if part)


@dataclass(frozen=True, slots=True)
class Job:
    """A session that something new was said in, and how far its extraction has come."""

    task: Task
    first_asked: datetime
    due: datetime
    asks: int = 1
    """How often it was asked for; who finishes it sees by this whether something came in meanwhile."""
    through: str = ""
    """The last message that was extracted from; what stands up to it is not read again."""
    attempts: int = 0
    leased_until: datetime | None = None
    leased_by: str = ""
    state: str = WAITING
    code: str = ""
    """Why the last attempt failed."""


def asked(job: Job | None, task: Task, now: datetime, pace: Pace | None = None) -> Job:
    """The job after something new was said: it waits for quiet, but not for ever."""
    pace = pace or Pace()
    if job is None:
        return Job(task, now, now + pace.debounce)
    first = job.first_asked if job.state == WAITING else now
    due = min(now + pace.debounce, first + pace.longest)
    return replace(job, task=task, first_asked=first, due=due, state=WAITING, attempts=0, code="", asks=job.asks + 1)


def ready(jobs: Iterable[Job], now: datetime) -> list[Job]:
    """The jobs whose time has come, longest waiting first. A lease that ran out is a crash: its job is ready."""
    return sorted((job for job in jobs if is_ready(job, now)), key=lambda job: job.due)


def is_ready(job: Job, now: datetime) -> bool:
    """Whether a worker may take the job now."""
    return job.state == WAITING and job.due <= now and not is_leased(job, now)


def is_leased(job: Job, now: datetime) -> bool:
    """Whether somebody is at it."""
    return job.leased_until is not None and job.leased_until > now


def next_moment(jobs: Iterable[Job]) -> datetime | None:
    """When the next job can be taken; none waits without end."""
    waiting = (job for job in jobs if job.state == WAITING)
    return min((max(job.due, job.leased_until or job.due) for job in waiting), default=None)


def taken(job: Job, now: datetime, by: str) -> Job:
    """The job while a worker has it."""
    return replace(job, leased_until=now + LEASE, leased_by=by, attempts=job.attempts + 1)


def unread(job: Job, messages: Sequence[Message]) -> tuple[Message, ...]:
    """What the last extraction has not seen: everything after the message it got to, or all if that is gone."""
    places = [place for place, message in enumerate(messages) if message.id == job.through]
    return tuple(messages[places[-1] + 1 :] if places else messages)


def unpromoted(promoted: frozenset[str], keyed: Iterable[tuple[str, T]]) -> dict[str, T]:
    """What has not been through the gate for this session, by whichever task, each key once."""
    fresh: dict[str, T] = {}
    for key, candidate in keyed:
        if key not in promoted:
            fresh.setdefault(key, candidate)
    return fresh


def advanced(job: Job, through: str, now: datetime) -> Job:
    """The job after a batch of messages went through the gate; stored in the same transaction as the verdicts.

    The lease runs on from here, because the worker that got this far is alive.
    """
    return replace(job, through=through, leased_until=now + LEASE, attempts=1, code="")


def finished(job: Job, asks: int) -> Job:
    """The job after everything in it was read; still waiting if it was asked for again meanwhile."""
    state = DONE if job.asks == asks else WAITING
    return replace(job, state=state, leased_until=None, leased_by="", attempts=0, code="")


def failed(job: Job, code: str, now: datetime, pace: Pace | None = None) -> Job:
    """The job after a failure: it comes back later and later, and in the end waits for a person. It is never lost."""
    free = replace(job, leased_until=None, leased_by="", code=code)
    if job.attempts >= MOST_ATTEMPTS:
        return replace(free, state=STUCK)
    pause = max((pace or Pace()).debounce, timedelta(seconds=1)) * 2 ** min(job.attempts, 8)
    return replace(free, due=now + pause)


def released(job: Job) -> Job:
    """The job of a worker that stops before it is done: the next one may take it at once."""
    return replace(job, leased_until=None, leased_by="", attempts=max(0, job.attempts - 1))


def candidate_key(extraction: Extraction, standing: str = "") -> str:
    """What makes two candidates the same one: what they say, the words they rest on and how far they are proven."""
    shown = [extraction.text.casefold(), sorted(support.quote for support in extraction.supports), standing]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=True).encode("ascii")).hexdigest()
