"""Writing: what is sent to be remembered, changed, forgotten or observed, and the verdicts on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Unpack

from truekeep.client import bodies, rebuild
from truekeep.client.asking import Asking
from truekeep.client.exchange import Steps
from truekeep.client.line import new_key
from truekeep.client.members import Members, malformed
from truekeep.errors import InvalidRequest
from truekeep.intake import Fields
from truekeep.origin import session_name
from truekeep.types import Verdict


class Writing(Asking):
    """Every way in. A rejection is a verdict, never an error."""

    def remember(self, text: str, *, via: str | None = None, **fields: Unpack[Fields]) -> Steps[Verdict]:
        """Put a text through the gate. A refusal is an answer: the verdict says what was decided and why."""
        (verdict,) = yield from self._remember([bodies.entry(text, fields)], via)
        return verdict

    def remember_many(
        self,
        entries: Iterable[str | Mapping[str, Any]],
        *,
        via: str | None = None,
        skip_rejected: bool = False,
        request: str | None = None,
        **shared: Unpack[Fields],
    ) -> Steps[list[Verdict]]:
        """Put a batch through the gate in one transaction; one rejection, and nothing of it is stored.

        ``skip_rejected`` stores the rest instead. ``request`` names the batch: what was stored under that name before
        is answered as it was and not stored again.
        """
        batch = bodies.entries(entries, shared)
        if not batch:
            return []
        return (yield from self._remember(batch, via, skip_rejected=skip_rejected, key=new_key(request)))

    def update_memory(
        self, memory_id: str, text: str, *, via: str | None = None, **fields: Unpack[Fields]
    ) -> Steps[Verdict]:
        """Give a memory new content; whatever is not accepted leaves the old entry as it was."""
        body = bodies.entry(text, fields)
        caller = yield from self.line.writer(via or self.over)
        reply = yield from self.line.ask(caller, "PUT", "memories", memory_id, body=body, key=new_key())
        return rebuild.verdict(reply.members)

    def delete_memory(self, memory_id: str, *, via: str | None = None, reason: str = "") -> Steps[Verdict]:
        """Forget a memory. People delete; what an agent wants deleted waits for a person."""
        caller = yield from self.line.writer(via or self.over, "delete")
        query = {"reason": reason or None}
        reply = yield from self.line.ask(caller, "DELETE", "memories", memory_id, query=query, key=new_key())
        return rebuild.verdict(reply.members)

    def restore(self, memory_id: str, *, via: str | None = None, version: int | None = None) -> Steps[Verdict]:
        """Make a memory the newest word again: one that was replaced, an earlier version, or one that was deleted."""
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
            raise InvalidRequest("A version is a whole number.", code="invalid_version")
        caller = yield from self.line.writer(via or self.over, "delete")
        body = {"version": version}
        reply = yield from self.line.ask(caller, "POST", "memories", memory_id, "restore", body=body, key=new_key())
        return rebuild.verdict(reply.members)

    def observe(
        self,
        session: str,
        channel: str | None,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
    ) -> Steps[None]:
        """Report what a session took in. Only the owner's token makes owner messages; ``role`` is for display."""
        body = {"text": text, "principal": principal, "message": message, "role": role, "at": bodies.moment("at", at)}
        caller = yield from self.line.writer(channel or self.over)
        where = ("sessions", session_name(session), "observe")
        yield from self.line.ask(caller, "POST", *where, body=body, key=new_key())

    def _remember(
        self, batch: list[dict[str, Any]], via: str | None, *, skip_rejected: bool = False, key: str | None = None
    ) -> Steps[list[Verdict]]:
        caller = yield from self.line.writer(via or self.over)
        body = {"memories": batch, "skip_rejected": skip_rejected}
        reply = yield from self.line.ask(caller, "POST", "memories", body=body, key=key or new_key())
        verdicts = list(Members(reply.members).each("memories", rebuild.verdict))
        if len(verdicts) != len(batch):
            raise malformed()
        return verdicts
