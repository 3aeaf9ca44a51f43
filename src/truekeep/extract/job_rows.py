"""Jobs as sealed rows: tagged with their state, so that those that wait are found without reading the others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from truekeep.extract.jobs import WAITING, Job, Task
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.types import utc_moment, utc_text

FORMAT = 1
_ALL = -1
_PROMOTED = "promoted"


class SealedJobs:
    """The jobs of one keep."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def get(self, task: Task) -> Job | None:
        """The job of that task. One whose row was altered is not believed: its session is read again."""
        sealed = self._ledger.get("jobs", task.id)
        return _job(sealed) if sealed is not None else None

    def waiting(self) -> list[Job]:
        """The jobs that are not done."""
        return _jobs(self._ledger.tagged("jobs", WAITING, _ALL))

    def all(self) -> list[Job]:
        """Every job."""
        return _jobs(self._ledger.all("jobs"))

    def put(self, entry: Entry, job: Job) -> None:
        """Keep a job inside the caller's transaction, in the place of its earlier state."""
        known = self._ledger.get("jobs", job.task.id)
        if known is None:
            entry.put("jobs", job.task.id, _body(job), tag=job.state)
        else:
            entry.replace("jobs", known.row, _body(job), tag=job.state)

    def promoted(self, session: str) -> frozenset[str]:
        """Keys of the session's candidates that went through the gate, by whichever task."""
        sealed = self._ledger.get("jobs", _promoted_id(session))
        return frozenset(json.loads(sealed.row.body)["keys"]) if sealed is not None and sealed.verified else frozenset()

    def promote(self, entry: Entry, session: str, keys: Iterable[str]) -> None:
        """Note that candidates went through the gate, inside the transaction in which they do."""
        row_id = _promoted_id(session)
        known = self._ledger.get("jobs", row_id)
        body = {"v": FORMAT, "keys": sorted(self.promoted(session) | set(keys))}
        if known is None:
            entry.put("jobs", row_id, body, tag=_PROMOTED)
        else:
            entry.replace("jobs", known.row, body, tag=_PROMOTED)


def _promoted_id(session: str) -> str:
    return f"{session} {_PROMOTED}"


def _jobs(found: list[Sealed]) -> list[Job]:
    return [job for sealed in found if (job := _job(sealed)) is not None]


def _body(job: Job) -> dict[str, Any]:
    task = job.task
    return {
        "v": FORMAT,
        "session": task.session,
        "strategy": task.strategy,
        "prompt": task.prompt,
        "max_summary_length": task.max_summary_length,
        "first_asked": utc_text(job.first_asked),
        "due": utc_text(job.due),
        "asks": job.asks,
        "through": job.through,
        "attempts": job.attempts,
        "leased_until": None if job.leased_until is None else utc_text(job.leased_until),
        "leased_by": job.leased_by,
        "state": job.state,
        "code": job.code,
    }


def _job(sealed: Sealed) -> Job | None:
    if not sealed.verified or sealed.row.tag == _PROMOTED:
        return None
    body = json.loads(sealed.row.body)
    if body["v"] != FORMAT:
        return None
    return Job(
        task=Task(body["session"], body["strategy"], body["prompt"], body["max_summary_length"]),
        first_asked=utc_moment(body["first_asked"]),
        due=utc_moment(body["due"]),
        asks=body["asks"],
        through=body["through"],
        attempts=body["attempts"],
        leased_until=_moment(body["leased_until"]),
        leased_by=body["leased_by"],
        state=body["state"],
        code=body["code"],
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else utc_moment(text)
