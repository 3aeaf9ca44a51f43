"""Incidents: looking back from a memory or a run, and taking a source or a time back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from truekeep.client import bodies, rebuild_reports
from truekeep.client.asking import NOT_GIVEN, Asking
from truekeep.client.exchange import Steps
from truekeep.client.line import new_key
from truekeep.client.members import Members
from truekeep.incident import Incident, Report


class Incidents(Asking):
    """For an administrator's token."""

    def trace(self, memory_id: str) -> Steps[Report]:
        """Where a memory came from, what came of it, who saw it, and what was decided about it."""
        return (yield from self._report("GET", "trace", memory_id))

    def exposures(self, memory_id: str) -> Steps[list[dict[str, Any]]]:
        """Which sessions were shown a memory, and which actions it was matched in."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "exposures", memory_id)
        return list(Members(reply.members).each("exposures", lambda one: Members(one).everything()))

    def blame(self, run: str) -> Steps[Report]:
        """From a run's actions back to the memories in them, and to where those came from."""
        return (yield from self._report("GET", "blame", run))

    def revoke(
        self,
        *,
        principal: str | None = None,
        channel: str | None = None,
        session: str | None = None,
        prompt: str | None = None,
        since: datetime | None = None,
        dry_run: bool = False,
        by: str | None = None,
        reason: str = NOT_GIVEN,
    ) -> Steps[Report]:
        """Take back what came from a source and all that was derived from it; ``dry_run`` only says what that does."""
        source = {"principal": principal, "channel": channel, "session": session, "prompt": prompt}
        body = source | {"since": bodies.moment("since", since), "dry_run": bool(dry_run), "reason": reason}
        return (yield from self._report("POST", "revoke", body=body, by=by))

    def rewind(
        self, to: datetime | int, *, dry_run: bool = False, by: str | None = None, reason: str = NOT_GIVEN
    ) -> Steps[Report]:
        """Put the memories back to what they were at a moment or after an audit event; ``dry_run`` only says how."""
        where = to if isinstance(to, int) and not isinstance(to, bool) else bodies.moment("to", to)
        body = {"to": where, "dry_run": bool(dry_run), "reason": reason}
        return (yield from self._report("POST", "rewind", body=body, by=by))

    def undo(self, incident: str, *, by: str | None = None, reason: str = NOT_GIVEN) -> Steps[Incident]:
        """Take a revocation, a rewind or a consolidation back."""
        caller = yield from self._administrator(by)
        body = {"incident": incident, "reason": reason}
        reply = yield from self.line.ask(caller, "POST", "undo", body=body, key=new_key())
        return rebuild_reports.incident(reply.members)

    def account(self, incident: str) -> Steps[Report]:
        """An incident told again, as a report: what it took out or put back, who had seen it and what was done."""
        return (yield from self._report("GET", "incidents", incident))

    def incidents(self) -> Steps[list[Incident]]:
        """Every revocation, rewind and consolidation, oldest first."""
        caller = yield from self._administrator()
        reply = yield from self.line.ask(caller, "GET", "incidents")
        return list(Members(reply.members).each("incidents", rebuild_reports.incident))

    def _report(
        self, method: str, *path: str, body: Mapping[str, Any] | None = None, by: str | None = None
    ) -> Steps[Report]:
        caller = yield from self._administrator(by)
        key = new_key() if body is not None else None
        reply = yield from self.line.ask(caller, method, *path, body=body, key=key)
        return rebuild_reports.report(reply.members)
