"""Handles: what a session or a piece of agent code is given instead of the whole keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from truekeep.errors import InvalidRequest
from truekeep.origin import require
from truekeep.types import Channel, Snapshot, Verdict

if TYPE_CHECKING:
    from truekeep.boundary import ActionAnswer, Ticket
    from truekeep.distil import Distilled
    from truekeep.keep import Keep
    from truekeep.recall import Recall


class Handle:
    """A capability: one channel, perhaps one session. It has no ``via``, no review, no audit and no credit."""

    def __init__(self, keep: Keep, channel: Channel, session: str | None) -> None:
        self.__keep = keep
        self.channel = channel.name
        self.session = session
        self.__channel = channel

    def remember(self, text: str, **fields: Any) -> Verdict:
        """Put a text through the gate over this handle's channel."""
        return self.__keep.remember(text, **self._over(fields))

    def remember_many(self, entries: Iterable[str | Mapping[str, Any]], **fields: Any) -> list[Verdict]:
        """Put a batch through the gate over this handle's channel."""
        return self.__keep.remember_many(entries, **self._over(fields))

    def update_memory(self, memory_id: str, text: str, **fields: Any) -> Verdict:
        """Offer new content for a memory over this handle's channel."""
        return self.__keep.update_memory(memory_id, text, **self._over(fields))

    def delete_memory(self, memory_id: str) -> Verdict:
        """Delete a memory, or propose it, as the channel may."""
        return self.__keep.delete_memory(memory_id, via=self.channel)

    def recall(self, query: str, **options: Any) -> Recall:
        """Recall for a channel that may read."""
        require(self.__channel, "read")
        return self.__keep.recall(query, **self._within(options))

    def get_memories(self, **options: Any) -> list[dict[str, Any]]:
        """List for a channel that may read."""
        require(self.__channel, "read")
        return self.__keep.get_memories(**self._within(options))

    def get_memory(self, memory_id: str) -> dict[str, Any]:
        """One memory, for a channel that may read."""
        require(self.__channel, "read")
        return self.__keep.get_memory(memory_id, **self._within({}))

    def observe(self, text: str, **fields: Any) -> None:
        """Report what this handle's session took in over this handle's channel."""
        self.__keep.observe(self._session(), self.channel, text, **fields)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Ask whether this handle's session may make a call, for a channel that may read."""
        require(self.__channel, "read")
        return self.__keep.check_action(self._session(), name, arguments, run=run)

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up for just this call; what the owner has to confirm is refused until then."""
        self.__keep.actions.redeem(str(ticket), name, arguments)

    def confirm(self, ticket: Ticket | str) -> None:
        """Confirm a call that waits, over a channel that may."""
        self.__keep.actions.confirm(ticket, via=self.channel)

    def extract(self, strategy: str = "discrete", **options: Any) -> Distilled:
        """Distil this handle's session; a custom prompt takes a channel that may use those."""
        self._session()
        return self.__keep.extract(strategy=strategy, **self._over(options))

    def snapshot(self, *, refresh: bool = False) -> Snapshot:
        """The snapshot of this handle's session, for a channel that may read."""
        require(self.__channel, "read")
        return self.__keep.snapshot(self.session or "default", refresh=refresh)

    def _session(self) -> str:
        if self.session is None:
            raise InvalidRequest("This handle has no session.", code="no_session", hint="Bind it with session=….")
        return self.session

    def _over(self, fields: dict[str, Any]) -> dict[str, Any]:
        if "via" in fields:
            raise TypeError("a handle's via is fixed when it is bound")
        return {**self._within(fields), "via": self.channel}

    def _within(self, fields: dict[str, Any]) -> dict[str, Any]:
        if "session" in fields:
            raise TypeError("a handle's session is fixed when it is bound")
        return {**fields, **({"session": self.session} if self.session else {})}


class Session:
    """One conversation, as the host program sees it."""

    def __init__(self, keep: Keep, name: str) -> None:
        self._keep = keep
        self.name = name

    def observe(self, channel: str, text: str, **fields: Any) -> None:
        """Report what this session took in: the owner's words prove, what was merely read taints."""
        self._keep.observe(self.name, channel, text, **fields)

    def remember(self, text: str, *, via: str, **fields: Any) -> Verdict:
        """Put a text through the gate as part of this session."""
        return self._keep.remember(text, via=via, session=self.name, **fields)

    def recall(self, query: str, **options: Any) -> Recall:
        """Recall within this session."""
        return self._keep.recall(query, session=self.name, **options)

    def get_memories(self, **options: Any) -> list[dict[str, Any]]:
        """List within this session."""
        return self._keep.get_memories(session=self.name, **options)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Ask whether a call may be made in this session: allow, confirm or deny, with a ticket."""
        return self._keep.check_action(self.name, name, arguments, run=run)

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket up for just this call; ``truekeep.guard`` does it for a tool."""
        self._keep.actions.redeem(str(ticket), name, arguments)

    def extract(self, strategy: str = "discrete", **options: Any) -> Distilled:
        """Distil this session into memories."""
        return self._keep.extract(self.name, strategy, **options)

    def snapshot(self, *, refresh: bool = False) -> Snapshot:
        """The frozen text for this session's prompt."""
        return self._keep.snapshot(self.name, refresh=refresh)

    def bind(self, channel: str) -> Handle:
        """A handle for that channel within this session."""
        return self._keep.bind(channel, session=self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The conversation is over, and can be distilled. Nothing is held open: its state is in the keep."""
        self._keep.extraction.ended(self.name)
