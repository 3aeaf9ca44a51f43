"""Handles: what a session or a piece of agent code is given instead of the whole keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from truekeep.errors import InvalidRequest, NotAllowed
from truekeep.trust.origin import require
from truekeep.types import Channel, Snapshot, Standing, Verdict

if TYPE_CHECKING:
    # The keep hands out handles, so it is above them; at run time a handle is given its keep.
    from truekeep.act.boundary import ActionAnswer, Ticket
    from truekeep.extract.llm import ChatModel
    from truekeep.extract.run import Distilled
    from truekeep.incident.records import Forgotten
    from truekeep.keep import Keep
    from truekeep.read.recall import Filters, Recall
    from truekeep.trust.flow.evidence import PlanEntry
    from truekeep.trust.flow.reply import CheckedReply
    from truekeep.write.intake import BoundFields, Fields


class Handle:
    """A capability: one channel, perhaps one session. It has no ``via``, no review, no audit and no credit.

    It cannot say anything about the session either: no tools, parent, plan, fresh context or attachments, so that no
    agent washes its own taint.
    """

    def __init__(self, keep: Keep, channel: Channel, session: str | None, run: str | None = None) -> None:
        self.__keep = keep
        self.channel = channel.name
        self.session = session
        self.run = run
        self.__channel = channel

    def remember(self, text: str, **fields: Unpack[BoundFields]) -> Verdict:
        """Put a text through the gate over this handle's channel.

        Raises ``InvalidText`` for what is no text and ``NotAllowed`` for a channel that may not write; a refusal by the
        policy is a verdict.
        """
        return self.__keep.remember(text, via=self.channel, **_within(fields, self.session))

    def remember_many(
        self,
        entries: Iterable[str | Mapping[str, Any]],
        *,
        skip_rejected: bool = False,
        mark: str | None = None,
        request: str | None = None,
        **fields: Unpack[BoundFields],
    ) -> list[Verdict]:
        """Put a batch through the gate over this handle's channel, all or nothing."""
        return self.__keep.remember_many(
            entries,
            via=self.channel,
            skip_rejected=skip_rejected,
            mark=mark,
            request=request,
            **_within(fields, self.session),
        )

    def update_memory(self, memory_id: str, text: str, **fields: Unpack[BoundFields]) -> Verdict:
        """Offer new content for a memory; an agent's offer waits for a person. Raises ``UnknownId``."""
        return self.__keep.update_memory(memory_id, text, via=self.channel, **_within(fields, self.session))

    def delete_memory(self, memory_id: str) -> Verdict:
        """Delete a memory, or propose it, as the channel may. Raises ``UnknownId``."""
        return self.__keep.delete_memory(memory_id, via=self.channel)

    def forget(self, what: str | Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Forget what some words are about, or propose it, as the channel may."""
        return self.__keep.forget(what, via=self.channel, dry_run=dry_run)

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        influence_only: bool = False,
        min_score: float | None = None,
        half_life_days: float | None = None,
        as_of: datetime | None = None,
        filters: Filters | None = None,
        explain: bool = False,
        background: bool | None = None,
        max_chars: int | None = None,
    ) -> Recall:
        """The memories that answer a query, for a channel that may read (else ``NotAllowed``)."""
        require(self.__channel, "read")
        return self.__keep.recall(
            query,
            k=k,
            influence_only=influence_only,
            min_score=min_score,
            half_life_days=half_life_days,
            as_of=as_of,
            filters=filters,
            explain=explain,
            background=background,
            max_chars=max_chars,
            session=self.session,
        )

    def get_memories(
        self, *, after: str | None = None, limit: int | None = None, as_of: datetime | None = None
    ) -> list[dict[str, Any]]:
        """The memories as dictionaries, for a channel that may read (else ``NotAllowed``)."""
        require(self.__channel, "read")
        return self.__keep.get_memories(after=after, limit=limit, as_of=as_of, session=self.session)

    def get_memory(self, memory_id: str) -> dict[str, Any]:
        """One memory, for a channel that may read. Raises ``NotAllowed`` and ``UnknownId``."""
        require(self.__channel, "read")
        return self.__keep.get_memory(memory_id, session=self.session)

    def observe(
        self,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
        is_dated: bool = True,
    ) -> None:
        """Report what this handle's session took in over this handle's channel.

        What an agent's handle reports is somebody else's: an agent cannot say that it had put it out itself.
        """
        self.__keep.observe(
            self._session(),
            self.channel,
            text,
            principal=principal,
            message=message,
            role=role,
            at=at,
            is_dated=is_dated,
            by_agent=self.__channel.standing is not Standing.OWNER,
        )

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Ask whether this handle's session may make a call, for a channel that may read (else ``NotAllowed``).

        The run is the one the host bound the handle with; an agent cannot name another one.
        """
        require(self.__channel, "read")
        if run not in (None, self.run, self.session) and self.__channel.standing is not Standing.OWNER:
            raise NotAllowed(
                "The host names the run, not the agent.", code="run_not_bound", hint="Bind the handle with run=…."
            )
        return self.__keep.check_action(self._session(), name, arguments, run=run or self.run)

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket of this session up for just this call. Raises ``TicketRefused``."""
        self.__keep.actions.redeem(str(ticket), name, arguments, session=self._session())

    def confirm(self, ticket: Ticket | str) -> None:
        """Confirm a call that waits, over a channel that may (else ``NotAllowed``)."""
        self.__keep.actions.confirm(ticket, via=self.channel)

    @property
    def is_clean(self) -> bool:
        """Whether nothing foreign is in this session's context, as far as anybody can know."""
        return self.__keep.is_clean(self._session())

    def extract(
        self,
        strategy: str = "discrete",
        *,
        prompt: str | None = None,
        max_summary_length: int | None = None,
        model: ChatModel | None = None,
    ) -> Distilled:
        """Learn from this handle's session now; a custom prompt takes a channel that may use those."""
        return self.__keep.extract(
            self._session(),
            strategy,
            via=self.channel,
            prompt=prompt,
            max_summary_length=max_summary_length,
            model=model,
        )

    def snapshot(self, *, refresh: bool = False) -> Snapshot:
        """The snapshot of this handle's session, for a channel that may read (else ``NotAllowed``)."""
        require(self.__channel, "read")
        return self.__keep.snapshot(self.session or "default", refresh=refresh)

    def _session(self) -> str:
        if self.session is None:
            raise InvalidRequest("This handle has no session.", code="no_session", hint="Bind it with session=….")
        return self.session


def _within(fields: BoundFields, session: str | None) -> Fields:
    """The fields with the session they are passed in, which is fixed when a handle is bound."""
    if "via" in fields or "session" in fields:
        raise TypeError("a handle's via and session are fixed when it is bound")
    return {**fields, "session": session}


class Session:
    """One conversation, as the host program sees it."""

    def __init__(self, keep: Keep, name: str) -> None:
        self._keep = keep
        self.name = name

    def observe(
        self,
        channel: str,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
        is_dated: bool = True,
        attached: Iterable[str] = (),
    ) -> None:
        """Report what this session took in: the owner's words prove, what was merely read taints.

        ``attached`` is what the host knows to be somebody else's in or beside a message of the owner's.
        """
        self._keep.observe(
            self.name,
            channel,
            text,
            principal=principal,
            message=message,
            role=role,
            at=at,
            is_dated=is_dated,
            attached=attached,
        )

    def observe_result(self, tool: str, result: Any, *, principal: str | None = None) -> None:
        """Report a tool's result, text or JSON. What of it taints follows from the tool's declaration."""
        self._keep.observe_result(self.name, tool, result, principal=principal)

    def remember(self, text: str, *, via: str, **fields: Unpack[BoundFields]) -> Verdict:
        """Put a text through the gate as part of this session."""
        return self._keep.remember(text, via=via, **_within(fields, self.name))

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        influence_only: bool = False,
        min_score: float | None = None,
        half_life_days: float | None = None,
        as_of: datetime | None = None,
        filters: Filters | None = None,
        explain: bool = False,
        background: bool | None = None,
        max_chars: int | None = None,
    ) -> Recall:
        """The memories that answer a query, within this session."""
        return self._keep.recall(
            query,
            k=k,
            influence_only=influence_only,
            min_score=min_score,
            half_life_days=half_life_days,
            as_of=as_of,
            filters=filters,
            explain=explain,
            background=background,
            max_chars=max_chars,
            session=self.name,
        )

    def get_memories(
        self, *, after: str | None = None, limit: int | None = None, as_of: datetime | None = None
    ) -> list[dict[str, Any]]:
        """The memories as dictionaries, within this session."""
        return self._keep.get_memories(after=after, limit=limit, as_of=as_of, session=self.name)

    def check_action(self, name: str, arguments: Mapping[str, Any], *, run: str | None = None) -> ActionAnswer:
        """Ask whether a call may be made in this session: allow, confirm or deny, with a ticket."""
        return self._keep.check_action(self.name, name, arguments, run=run)

    def check_reply(self, text: str) -> CheckedReply:
        """The agent's answer to the owner, without links and images that would carry private values away."""
        return self._keep.check_reply(self.name, text)

    def redeem(self, ticket: Ticket | str, name: str, arguments: Mapping[str, Any]) -> None:
        """Use a ticket of this session up for just this call; ``truekeep.guard`` does it for a tool.

        Raises ``TicketRefused``.
        """
        self._keep.actions.redeem(str(ticket), name, arguments, session=self.name)

    @property
    def is_clean(self) -> bool:
        """Whether nothing foreign is in this session's context, as far as anybody can know."""
        return self._keep.is_clean(self.name)

    def plan(self, model: ChatModel) -> Sequence[PlanEntry]:
        """Have a model list the calls it intends for the owner's last message, from a view with nothing foreign."""
        return self._keep.plan(self.name, model)

    def segment(self) -> None:
        """Start a fresh context: the host has dropped the old one, but for the owner's messages and what may act."""
        self._keep.segment(self.name)

    def extract(
        self,
        strategy: str = "discrete",
        *,
        via: str = "agent",
        prompt: str | None = None,
        max_summary_length: int | None = None,
        model: ChatModel | None = None,
    ) -> Distilled:
        """Learn from this session now."""
        return self._keep.extract(
            self.name, strategy, via=via, prompt=prompt, max_summary_length=max_summary_length, model=model
        )

    def snapshot(self, *, refresh: bool = False) -> Snapshot:
        """The frozen text for this session's prompt."""
        return self._keep.snapshot(self.name, refresh=refresh)

    def bind(self, channel: str, *, run: str | None = None) -> Handle:
        """A handle for that channel within this session, for one run of the host's."""
        return self._keep.bind(channel, session=self.name, run=run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The conversation is over: what the owner said in it is remembered. Nothing is held open."""
        self._keep.extraction.ended(self.name)
