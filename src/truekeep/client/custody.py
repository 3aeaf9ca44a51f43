"""Custody: what is done to a keep as a whole, and a session distilled; for an administrator's or a writer's token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from truekeep.client import rebuild_reports, rebuild_sessions
from truekeep.client.asking import NOT_GIVEN, Asking
from truekeep.client.exchange import Steps
from truekeep.client.line import new_key
from truekeep.client.members import Members
from truekeep.distil import Distilled
from truekeep.erasure import Receipt
from truekeep.errors import NotServed
from truekeep.extract.jobs import Task
from truekeep.incident import Report
from truekeep.origin import session_name


class Custody(Asking):
    """Merging, taking out, erasing and distilling."""

    def consolidate(
        self, *, dry_run: bool = False, by: str | None = None, reason: str = NOT_GIVEN, progress: object = None
    ) -> Steps[Report]:
        """Merge memories that say the same into one each; ``dry_run`` only says which, ``undo`` takes it back."""
        if progress is not None:
            raise NotServed("Progress is told by an embedded keep only.", hint="Leave progress= out over a service.")
        caller = yield from self._administrator(by)
        body = {"dry_run": bool(dry_run), "reason": reason}
        reply = yield from self.line.ask(caller, "POST", "consolidate", body=body, key=new_key())
        return rebuild_reports.report(reply.members)

    def export(self) -> Steps[list[str]]:
        """All memories as signed JSON lines, screened and sanitised like any other answer."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "export")
        return list(Members(reply.members).texts("lines"))

    def erase(
        self,
        ids: Iterable[str] = (),
        *,
        subject: str | None = None,
        by: str | None = None,
        reason: str,
        dry_run: bool = False,
    ) -> Steps[Receipt]:
        """Erase memories, or everything that names a subject, for good; the audit log keeps keyed hashes only."""
        caller = yield from self._administrator(by)
        body = {"ids": list(ids), "subject": subject, "dry_run": bool(dry_run), "reason": reason}
        reply = yield from self.line.ask(caller, "POST", "erase", body=body, key=new_key())
        return rebuild_reports.receipt(reply.members)

    def extract(
        self,
        session: str,
        strategy: str = "discrete",
        *,
        via: str | None = None,
        prompt: str | None = None,
        max_summary_length: int | None = None,
        model: object = None,
    ) -> Steps[Distilled]:
        """Distil a session into memories now: each is proved against its messages and goes through the gate once."""
        if model is not None:
            raise NotServed("A model of the caller's works in an embedded keep only.", hint="Set one for the service.")
        caller = yield from self.line.writer(via or self.over or "agent")
        task = Task(session_name(session), strategy, prompt, max_summary_length)
        body: dict[str, Any] = {"strategy": strategy, "prompt": prompt, "max_summary_length": max_summary_length}
        reply = yield from self.line.ask(caller, "POST", "sessions", task.session, "extract", body=body, key=new_key())
        return rebuild_sessions.distilled(reply.members, task)
