"""The calls of a keep, a session and a handle, as steps that both shells carry out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from truekeep.boundary import ActionAnswer
from truekeep.client.acting import Acting
from truekeep.client.custody import Custody
from truekeep.client.exchange import Steps
from truekeep.client.incidents import Incidents
from truekeep.client.reading import Reading
from truekeep.client.writing import Writing
from truekeep.distil import Distilled
from truekeep.errors import InvalidRequest
from truekeep.origin import session_name
from truekeep.recall import Recall
from truekeep.types import Snapshot, Verdict


class KeepCalls(Writing, Reading, Acting, Incidents, Custody):
    """What a keep asks of the service."""

    def bound(self, channel: str) -> KeepCalls:
        """The same calls, with the token of one channel only."""
        return KeepCalls(self.line, self.redeem_now, channel)

    def begin(self, session: str, *, mediated: bool = False, member: str | None = None) -> Steps[None]:
        """Declare what the host knows of a session, if it knows something. Only the owner's token does."""
        if mediated or member is not None:
            caller = yield from self.line.caller("write", self.over, of_channel="observe")
            body = {"mediated": bool(mediated), "member": member}
            yield from self.line.ask(caller, "PUT", "sessions", session_name(session), body=body)

    def end(self, session: str) -> Steps[None]:
        """The conversation is over, and can be distilled; who may not write has left nothing to be distilled."""
        caller = yield from self.line.caller("write", self.over)
        if caller.may("write"):
            yield from self.line.ask(caller, "POST", "sessions", session, "end")


class SessionCalls:
    """What one conversation asks, as the host program sees it."""

    def __init__(self, keep: KeepCalls, name: str) -> None:
        self.keep = keep
        self.name = session_name(name)

    def observe(self, /, channel: str, text: str, **fields: Any) -> Steps[None]:
        """Report what this session took in: the owner's words prove, what was merely read taints."""
        return self.keep.observe(self.name, channel, text, **fields)

    def remember(self, /, text: str, *, via: str | None = None, **fields: Any) -> Steps[Verdict]:
        """Put a text through the gate as part of this session."""
        return self.keep.remember(text, via=via, session=self.name, **fields)

    def recall(self, /, query: str, **options: Any) -> Steps[Recall]:
        """Recall within this session."""
        return self.keep.recall(query, session=self.name, **options)

    def get_memories(self, /, **options: Any) -> Steps[list[dict[str, Any]]]:
        """List within this session."""
        return self.keep.get_memories(session=self.name, **options)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> Steps[ActionAnswer]:
        """Ask whether a call may be made in this session: allow, confirm or deny, with a ticket."""
        return self.keep.check_action(self.name, name, arguments, run=run)

    def redeem(self, ticket: object, name: str, arguments: Mapping[str, Any]) -> Steps[None]:
        """Use a ticket up for just this call; ``truekeep.guard`` does it for a tool."""
        return self.keep.redeem(ticket, name, arguments)

    def extract(self, /, strategy: str = "discrete", **options: Any) -> Steps[Distilled]:
        """Distil this session into memories."""
        return self.keep.extract(self.name, strategy, **options)

    def snapshot(self, *, refresh: bool = False) -> Steps[Snapshot]:
        """The frozen text for this session's prompt."""
        return self.keep.snapshot(self.name, refresh=refresh)

    def end(self) -> Steps[None]:
        """The conversation is over."""
        return self.keep.end(self.name)


class HandleCalls:
    """What a piece of agent code asks: one channel, perhaps one session, and no ``via``."""

    def __init__(self, keep: KeepCalls, channel: str, session: str | None) -> None:
        self.keep = keep.bound(channel)
        self.channel = channel
        self.session = session_name(session) if session is not None else None

    def remember(self, /, text: str, **fields: Any) -> Steps[Verdict]:
        """Put a text through the gate over this handle's channel."""
        return self.keep.remember(text, **self._within(fields))

    def remember_many(self, /, entries: Iterable[str | Mapping[str, Any]], **fields: Any) -> Steps[list[Verdict]]:
        """Put a batch through the gate over this handle's channel."""
        return self.keep.remember_many(entries, **self._within(fields))

    def update_memory(self, /, memory_id: str, text: str, **fields: Any) -> Steps[Verdict]:
        """Offer new content for a memory over this handle's channel."""
        return self.keep.update_memory(memory_id, text, **self._within(fields))

    def delete_memory(self, memory_id: str) -> Steps[Verdict]:
        """Delete a memory, or propose it, as the channel may."""
        return self.keep.delete_memory(memory_id)

    def recall(self, /, query: str, **options: Any) -> Steps[Recall]:
        """Recall for a channel that may read."""
        return self.keep.recall(query, **self._within(options))

    def get_memories(self, /, **options: Any) -> Steps[list[dict[str, Any]]]:
        """List for a channel that may read."""
        return self.keep.get_memories(**self._within(options))

    def get_memory(self, memory_id: str) -> Steps[dict[str, Any]]:
        """One memory, for a channel that may read."""
        return self.keep.get_memory(memory_id, **self._within({}))

    def observe(self, /, text: str, **fields: Any) -> Steps[None]:
        """Report what this handle's session took in over this handle's channel."""
        return self.keep.observe(self._session(), self.channel, text, **fields)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> Steps[ActionAnswer]:
        """Ask whether this handle's session may make a call, for a channel that may read."""
        return self.keep.check_action(self._session(), name, arguments, run=run)

    def redeem(self, ticket: object, name: str, arguments: Mapping[str, Any]) -> Steps[None]:
        """Use a ticket up for just this call; what the owner has to confirm is refused until then."""
        return self.keep.redeem(ticket, name, arguments)

    def confirm(self, ticket: object) -> Steps[None]:
        """Confirm a call that waits, over a channel that may."""
        return self.keep.confirm(ticket)

    def extract(self, /, strategy: str = "discrete", **options: Any) -> Steps[Distilled]:
        """Distil this handle's session; a custom prompt takes a channel that may use those."""
        if "via" in options:
            raise TypeError("a handle's via is fixed when it is bound")
        return self.keep.extract(self._session(), strategy, **options)

    def snapshot(self, *, refresh: bool = False) -> Steps[Snapshot]:
        """The snapshot of this handle's session, for a channel that may read."""
        return self.keep.snapshot(self.session or "default", refresh=refresh)

    def _session(self) -> str:
        if self.session is None:
            raise InvalidRequest("This handle has no session.", code="no_session", hint="Bind it with session=….")
        return self.session

    def _within(self, fields: dict[str, Any]) -> dict[str, Any]:
        for name in ("via", "session"):
            if name in fields:
                raise TypeError(f"a handle's {name} is fixed when it is bound")
        return {**fields, **({"session": self.session} if self.session else {})}
