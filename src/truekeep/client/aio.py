"""The asynchronous client: ``AsyncKeep``, its sessions and its handles; the same methods, awaited."""

from __future__ import annotations

import ssl
from collections.abc import Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from truekeep.client.calls import HandleCalls, KeepCalls, SessionCalls
from truekeep.client.endpoint import ServiceEndpoint
from truekeep.client.exchange import RetryPatience, ServiceLine
from truekeep.client.parts import (
    ActionCalls,
    AuditCalls,
    ChannelCalls,
    GrantCalls,
    PromptCalls,
    ReviewCalls,
    WorkingCalls,
)
from truekeep.client.wires import Asynchronous, AsyncWire, awaited
from truekeep.errors import InvalidRequest
from truekeep.incident.records import Forgotten
from truekeep.trust.flow.tools import Tool


class AsyncReview(Asynchronous[ReviewCalls]):
    """The review queue; decisions are signed with the name of the token's holder."""

    list = awaited(ReviewCalls.list)
    show = awaited(ReviewCalls.show)
    approve = awaited(ReviewCalls.approve)
    reject = awaited(ReviewCalls.reject)
    lift = awaited(ReviewCalls.lift)


class AsyncAudit(Asynchronous[AuditCalls]):
    """The audit log."""

    events = awaited(AuditCalls.events)
    verify = awaited(AuditCalls.verify)


class AsyncActions(Asynchronous[ActionCalls]):
    """Tickets that wait for the owner, or for their call."""

    confirm = awaited(ActionCalls.confirm)
    decline = awaited(ActionCalls.decline)
    redeem = awaited(ActionCalls.redeem)
    pending = awaited(ActionCalls.pending)
    why = awaited(ActionCalls.why)


class AsyncGrants(Asynchronous[GrantCalls]):
    """The owner's standing permissions."""

    add = awaited(GrantCalls.add)
    list = awaited(GrantCalls.list)
    remove = awaited(GrantCalls.remove)


class AsyncChannels(Asynchronous[ChannelCalls]):
    """The ways into the keep."""

    list = awaited(ChannelCalls.list)
    enrol = awaited(ChannelCalls.enrol)
    retire = awaited(ChannelCalls.retire)


class AsyncWorking(Asynchronous[WorkingCalls]):
    """The sessions' working memory."""

    put = awaited(WorkingCalls.put)
    append = awaited(WorkingCalls.append)
    get = awaited(WorkingCalls.get)
    window = awaited(WorkingCalls.window)
    list = awaited(WorkingCalls.list)
    delete = awaited(WorkingCalls.delete)


class AsyncPrompts(Asynchronous[PromptCalls]):
    """The library of custom extraction prompts."""

    add = awaited(PromptCalls.add)
    approve = awaited(PromptCalls.approve)
    disable = awaited(PromptCalls.disable)
    usable = awaited(PromptCalls.usable)
    all = awaited(PromptCalls.all)


class AsyncKeep(Asynchronous[KeepCalls]):
    """One owner's memory, served by another process. The methods of ``truekeep.Keep``, awaited.

    ``token`` is one token or several: each is for one channel, and ``via=`` picks the one whose channel it is. What a
    token is for is asked of the service; nothing that is passed here changes it. ``keep`` names the keep for tokens
    that cover several. ``timeout`` bounds a call with all its attempts.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | Iterable[str],
        keep: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        trust: ssl.SSLContext | None = None,
        unsafe_plain_http: bool = False,
    ) -> None:
        patience = RetryPatience(timeout=timeout, retries=retries)
        endpoint = ServiceEndpoint.checked(address, token, patience, trust, unsafe_plain_http)
        wire, line = AsyncWire(endpoint), ServiceLine(endpoint.tokens, patience, keep)
        core = KeepCalls(line, _redeem_later)
        super().__init__(wire, core)
        self.address = endpoint.address
        self.review = AsyncReview(wire, ReviewCalls(core))
        self.audit = AsyncAudit(wire, AuditCalls(core))
        self.actions = AsyncActions(wire, ActionCalls(core))
        self.grants = AsyncGrants(wire, GrantCalls(core))
        self.channels = AsyncChannels(wire, ChannelCalls(core))
        self.working = AsyncWorking(wire, WorkingCalls(core))
        self.prompts = AsyncPrompts(wire, PromptCalls(core))

    remember = awaited(KeepCalls.remember)
    remember_many = awaited(KeepCalls.remember_many)
    update_memory = awaited(KeepCalls.update_memory)
    delete_memory = awaited(KeepCalls.delete_memory)
    unforget = awaited(KeepCalls.unforget)
    restore = awaited(KeepCalls.restore)
    pin = awaited(KeepCalls.pin)
    unpin = awaited(KeepCalls.unpin)
    proposed_pins = awaited(KeepCalls.proposed_pins)
    observe = awaited(KeepCalls.observe)
    recall = awaited(KeepCalls.recall)
    get_memories = awaited(KeepCalls.get_memories)
    get_memory = awaited(KeepCalls.get_memory)
    history = awaited(KeepCalls.history)
    snapshot = awaited(KeepCalls.snapshot)
    check_action = awaited(KeepCalls.check_action)
    check_reply = awaited(KeepCalls.check_reply)
    observe_result = awaited(KeepCalls.observe_result)
    segment = awaited(KeepCalls.segment)
    plan = awaited(KeepCalls.plan)
    plan_prompt = awaited(KeepCalls.plan_prompt)
    take_plan = awaited(KeepCalls.take_plan)
    is_clean = awaited(KeepCalls.is_clean)
    credit = awaited(KeepCalls.credit)
    trace = awaited(KeepCalls.trace)
    exposures = awaited(KeepCalls.exposures)
    blame = awaited(KeepCalls.blame)
    revoke = awaited(KeepCalls.revoke)
    rewind = awaited(KeepCalls.rewind)
    undo = awaited(KeepCalls.undo)
    account = awaited(KeepCalls.account)
    incidents = awaited(KeepCalls.incidents)
    consolidate = awaited(KeepCalls.consolidate)
    extract = awaited(KeepCalls.extract)
    export = awaited(KeepCalls.export)
    erase = awaited(KeepCalls.erase)

    async def forget(self, what: str | Sequence[str], *, via: str | None = None, dry_run: bool = False) -> Forgotten:
        """Forget what the owner said about something, or some ids; ``undo`` of the answer brings it back."""
        told = await self._wire.run(self._core.forget(what, via=via, dry_run=dry_run))
        return replace(told, take_back=lambda: self.unforget(str(told.id), via=via)) if told.done else told

    async def name(self) -> str:
        """The keep's name, as the service knows it."""
        return (await self._wire.run(self._core.line.callers()))[0].keep

    def session(
        self,
        name: str,
        *,
        mediated: bool = False,
        member: str | None = None,
        parent: str | None = None,
        learn: bool = True,
        tools: Iterable[Tool] = (),
    ) -> Beginning:
        """A session of the host program: ``await`` it, or enter it with ``async with``."""
        session = AsyncSession(self._wire, SessionCalls(self._core, name))
        begin = self._core.begin(name, mediated=mediated, member=member, parent=parent, learn=learn, tools=tools)
        return Beginning(session, self._wire.run(begin))

    def bind(self, channel: str, *, session: str | None = None) -> AsyncHandle:
        """A handle that uses the token of that channel and no other; this is what agent code is given."""
        return AsyncHandle(self._wire, HandleCalls(self._core, channel, session))

    async def close(self) -> None:
        """Let go of the connections; closing twice is fine."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncKeep({self.address!r})"


class AsyncSession(Asynchronous[SessionCalls]):
    """One conversation, as the host program sees it."""

    observe = awaited(SessionCalls.observe)
    remember = awaited(SessionCalls.remember)
    recall = awaited(SessionCalls.recall)
    get_memories = awaited(SessionCalls.get_memories)
    check_action = awaited(SessionCalls.check_action)
    check_reply = awaited(SessionCalls.check_reply)
    observe_result = awaited(SessionCalls.observe_result)
    segment = awaited(SessionCalls.segment)
    plan = awaited(SessionCalls.plan)
    redeem = awaited(SessionCalls.redeem)
    extract = awaited(SessionCalls.extract)
    snapshot = awaited(SessionCalls.snapshot)

    @property
    def name(self) -> str:
        """The session's name."""
        return self._core.name

    async def is_clean(self) -> bool:
        """Whether nothing foreign is in this session's context, as far as anybody can know."""
        return await self._wire.run(self._core.keep.is_clean(self.name))

    def bind(self, channel: str) -> AsyncHandle:
        """A handle for that channel within this session."""
        return AsyncHandle(self._wire, HandleCalls(self._core.keep, channel, self.name))

    async def end(self) -> None:
        """The conversation is over, and can be distilled; leaving ``async with`` says so, too."""
        await self._wire.run(self._core.end())


class Beginning:
    """A session that is about to begin: awaited, or entered."""

    def __init__(self, session: AsyncSession, begins: Coroutine[Any, Any, None]) -> None:
        self._session = session
        self._begins = begins

    def __await__(self) -> Generator[Any, Any, AsyncSession]:
        yield from self._begins.__await__()
        return self._session

    async def __aenter__(self) -> AsyncSession:
        return await self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.end()


class AsyncHandle(Asynchronous[HandleCalls]):
    """A capability: one channel, perhaps one session. It has no ``via``, no review, no audit and no credit."""

    remember = awaited(HandleCalls.remember)
    remember_many = awaited(HandleCalls.remember_many)
    update_memory = awaited(HandleCalls.update_memory)
    delete_memory = awaited(HandleCalls.delete_memory)
    recall = awaited(HandleCalls.recall)
    get_memories = awaited(HandleCalls.get_memories)
    get_memory = awaited(HandleCalls.get_memory)
    observe = awaited(HandleCalls.observe)
    check_action = awaited(HandleCalls.check_action)
    redeem = awaited(HandleCalls.redeem)
    confirm = awaited(HandleCalls.confirm)
    extract = awaited(HandleCalls.extract)
    snapshot = awaited(HandleCalls.snapshot)
    is_clean = awaited(HandleCalls.is_clean)

    async def forget(self, what: str | Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Forget what some words are about, or propose it, as the channel may."""
        told = await self._wire.run(self._core.forget(what, dry_run=dry_run))
        back = self._core.keep
        return replace(told, take_back=lambda: self._wire.run(back.unforget(str(told.id)))) if told.done else told

    @property
    def channel(self) -> str:
        """The channel it is bound to."""
        return self._core.channel

    @property
    def session(self) -> str | None:
        """The session it is bound to, if it is to one."""
        return self._core.session


def _redeem_later(session: str, ticket: str, name: str, arguments: Mapping[str, Any]) -> None:
    """A ticket redeems itself at once, which an asynchronous client cannot."""
    del session, ticket, name, arguments
    raise InvalidRequest(
        "This ticket came over an asynchronous client.",
        code="await_needed",
        hint="Use it up with: await session.redeem(ticket, name, arguments).",
    )
