"""Jobs as sealed rows: tagged with their state, so that those that wait are found without reading the others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from truekeep.extract.jobs import WAITING, Job, Task
from truekeep.stores.codec import Shape
from truekeep.stores.records import stored, unreadable

if TYPE_CHECKING:
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

_ALL = -1
_PROMOTED = "promoted"
_TASK = stored(Task)
_JOB = Shape(Job, given=("task",), refuse=unreadable)


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
        entry.set("jobs", job.task.id, _body(job), tag=job.state)

    def promoted(self, session: str) -> frozenset[str]:
        """Keys of the session's candidates that went through the gate, by whichever task."""
        sealed = self._ledger.get("jobs", _promoted_id(session))
        return frozenset(json.loads(sealed.row.body)["keys"]) if sealed is not None and sealed.verified else frozenset()

    def promote(self, entry: Entry, session: str, keys: Iterable[str]) -> None:
        """Note that candidates went through the gate, inside the transaction in which they do."""
        body = {"v": 1, "keys": sorted(self.promoted(session) | set(keys))}
        entry.set("jobs", _promoted_id(session), body, tag=_PROMOTED)


def _promoted_id(session: str) -> str:
    return f"{session} {_PROMOTED}"


def _jobs(found: list[Sealed]) -> list[Job]:
    return [job for sealed in found if (job := _job(sealed)) is not None]


def _body(job: Job) -> dict[str, Any]:
    return _TASK.write(job.task) | _JOB.write(job)


def _job(sealed: Sealed) -> Job | None:
    if not sealed.verified or sealed.row.tag == _PROMOTED:
        return None
    body = json.loads(sealed.row.body)
    return _JOB.read(body, task=_TASK.read(body))
