"""The queue of conversations to extract from: debounced, crash-proof, and never promoted twice.

Pure: a job is a value, and each step is a function from one state to the next. A ``JobStore`` keeps them; if
every step is stored before the next is taken, a crash at any point leaves the job where it can be taken again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from truekeep.extract.conversation import Conversation, Extraction

DEBOUNCE = timedelta(seconds=30)
LONGEST_DELAY = timedelta(minutes=10)
LEASE = timedelta(minutes=15)
MOST_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Job:
    """A session that something new was said in, and how far its extraction has come."""

    session: str
    strategy: str
    first_asked: datetime
    due: datetime
    digest: str = ""
    """Of the messages that were last extracted from; unchanged sources are skipped."""
    promoted: frozenset[str] = frozenset()
    """Keys of the candidates that already went through the gate."""
    attempts: int = 0
    leased_until: datetime | None = None
    state: str = "waiting"
    code: str = ""
    """Why the last attempt failed."""


class JobStore(Protocol):
    """Where jobs are kept."""

    def put(self, job: Job) -> None:
        """Keep a job, replacing its earlier state, before this returns."""

    def get(self, session: str, strategy: str) -> Job | None:
        """The job of that session and strategy."""

    def all(self) -> Sequence[Job]:
        """Every job."""


def asked(job: Job | None, session: str, strategy: str, now: datetime) -> Job:
    """The job after something new was said: it waits for quiet, but not for ever."""
    if job is None:
        return Job(session, strategy, now, now + DEBOUNCE)
    first = job.first_asked if job.state == "waiting" else now
    due = min(now + DEBOUNCE, first + LONGEST_DELAY)
    return replace(job, first_asked=first, due=due, state="waiting", attempts=0, code="")


def ready(jobs: Iterable[Job], now: datetime) -> list[Job]:
    """The jobs whose time has come, longest waiting first. A lease that ran out is a crash: its job is ready."""
    return sorted((job for job in jobs if _is_ready(job, now)), key=lambda job: job.due)


def taken(job: Job, now: datetime) -> Job:
    """The job while a worker has it."""
    return replace(job, leased_until=now + LEASE, attempts=job.attempts + 1)


def has_changed(job: Job, conversation: Conversation) -> bool:
    """Whether there is anything in the conversation that the last extraction has not seen."""
    return job.digest != source_digest(conversation)


def unpromoted(job: Job, extractions: Iterable[Extraction]) -> list[Extraction]:
    """The candidates that have not been through the gate for this session, each once."""
    fresh: dict[str, Extraction] = {}
    for extraction in extractions:
        key = candidate_key(extraction)
        if key not in job.promoted:
            fresh.setdefault(key, extraction)
    return list(fresh.values())


def promoted(job: Job, extraction: Extraction) -> Job:
    """The job after one candidate went through the gate; stored in the same transaction as the verdict."""
    return replace(job, promoted=job.promoted | {candidate_key(extraction)})


def finished(job: Job, conversation: Conversation) -> Job:
    """The job after everything in it went through the gate."""
    return replace(job, digest=source_digest(conversation), state="done", leased_until=None, attempts=0, code="")


def failed(job: Job, code: str, now: datetime) -> Job:
    """The job after a failure: it comes back later and later, and in the end waits for a person. It is never lost."""
    if job.attempts >= MOST_ATTEMPTS:
        return replace(job, state="stuck", leased_until=None, code=code)
    pause = DEBOUNCE * 2 ** min(job.attempts, 8)
    return replace(job, due=now + pause, leased_until=None, code=code)


def source_digest(conversation: Conversation) -> str:
    """A digest of everything extraction reads."""
    shown = [(m.id, m.channel, m.text, m.at.isoformat()) for m in conversation.messages]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=True).encode("ascii")).hexdigest()


def candidate_key(extraction: Extraction) -> str:
    """What makes two candidates the same one: what they say and what they rest on."""
    supports = sorted((support.quote, support.message_id or "") for support in extraction.supports)
    shown = [extraction.text.casefold(), supports]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=True).encode("ascii")).hexdigest()


def _is_ready(job: Job, now: datetime) -> bool:
    if job.state != "waiting" or job.due > now:
        return False
    return job.leased_until is None or job.leased_until <= now
