"""The client that blocks: ``ServedKeep``, its sessions and its handles, in the place of the embedded ones."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

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
from truekeep.client.wires import Blocking, BlockingWire, blocking
from truekeep.incident.records import Forgotten
from truekeep.trust.flow.tools import Tool


class ServedReview(Blocking[ReviewCalls]):
    """The review queue; decisions are signed with the name of the token's holder."""

    list = blocking(ReviewCalls.list)
    show = blocking(ReviewCalls.show)
    approve = blocking(ReviewCalls.approve)
    reject = blocking(ReviewCalls.reject)
    lift = blocking(ReviewCalls.lift)


class ServedAudit(Blocking[AuditCalls]):
    """The audit log."""

    events = blocking(AuditCalls.events)
    verify = blocking(AuditCalls.verify)


class ServedActions(Blocking[ActionCalls]):
    """Tickets that wait for the owner, or for their call."""

    confirm = blocking(ActionCalls.confirm)
    decline = blocking(ActionCalls.decline)
    redeem = blocking(ActionCalls.redeem)
    pending = blocking(ActionCalls.pending)
    why = blocking(ActionCalls.why)


class ServedGrants(Blocking[GrantCalls]):
    """The owner's standing permissions."""

    add = blocking(GrantCalls.add)
    list = blocking(GrantCalls.list)
    remove = blocking(GrantCalls.remove)


class ServedChannels(Blocking[ChannelCalls]):
    """The ways into the keep."""

    list = blocking(ChannelCalls.list)
    enrol = blocking(ChannelCalls.enrol)
    retire = blocking(ChannelCalls.retire)


class ServedWorking(Blocking[WorkingCalls]):
    """The sessions' working memory."""

    put = blocking(WorkingCalls.put)
    append = blocking(WorkingCalls.append)
    get = blocking(WorkingCalls.get)
    window = blocking(WorkingCalls.window)
    list = blocking(WorkingCalls.list)
    delete = blocking(WorkingCalls.delete)


class ServedPrompts(Blocking[PromptCalls]):
    """The library of custom extraction prompts."""

    add = blocking(PromptCalls.add)
    approve = blocking(PromptCalls.approve)
    disable = blocking(PromptCalls.disable)
    usable = blocking(PromptCalls.usable)
    all = blocking(PromptCalls.all)


class ServedKeep(Blocking[KeepCalls]):
    """One owner's memory, served by another process. Its methods are those of ``truekeep.Keep``.

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
        wire, line = BlockingWire(endpoint), ServiceLine(endpoint.tokens, patience, keep)
        core = KeepCalls(line, lambda session, *call: wire.run(core.redeem(*call, session=session)))
        super().__init__(wire, core)
        self.address = endpoint.address
        self.review = ServedReview(wire, ReviewCalls(core))
        self.audit = ServedAudit(wire, AuditCalls(core))
        self.actions = ServedActions(wire, ActionCalls(core))
        self.grants = ServedGrants(wire, GrantCalls(core))
        self.channels = ServedChannels(wire, ChannelCalls(core))
        self.working = ServedWorking(wire, WorkingCalls(core))
        self.prompts = ServedPrompts(wire, PromptCalls(core))

    remember = blocking(KeepCalls.remember)
    remember_many = blocking(KeepCalls.remember_many)
    update_memory = blocking(KeepCalls.update_memory)
    delete_memory = blocking(KeepCalls.delete_memory)
    unforget = blocking(KeepCalls.unforget)
    restore = blocking(KeepCalls.restore)
    pin = blocking(KeepCalls.pin)
    unpin = blocking(KeepCalls.unpin)
    proposed_pins = blocking(KeepCalls.proposed_pins)
    observe = blocking(KeepCalls.observe)
    recall = blocking(KeepCalls.recall)
    get_memories = blocking(KeepCalls.get_memories)
    get_memory = blocking(KeepCalls.get_memory)
    history = blocking(KeepCalls.history)
    snapshot = blocking(KeepCalls.snapshot)
    check_action = blocking(KeepCalls.check_action)
    check_reply = blocking(KeepCalls.check_reply)
    observe_result = blocking(KeepCalls.observe_result)
    segment = blocking(KeepCalls.segment)
    plan = blocking(KeepCalls.plan)
    plan_prompt = blocking(KeepCalls.plan_prompt)
    take_plan = blocking(KeepCalls.take_plan)
    is_clean = blocking(KeepCalls.is_clean)
    credit = blocking(KeepCalls.credit)
    trace = blocking(KeepCalls.trace)
    exposures = blocking(KeepCalls.exposures)
    blame = blocking(KeepCalls.blame)
    revoke = blocking(KeepCalls.revoke)
    rewind = blocking(KeepCalls.rewind)
    undo = blocking(KeepCalls.undo)
    account = blocking(KeepCalls.account)
    incidents = blocking(KeepCalls.incidents)
    consolidate = blocking(KeepCalls.consolidate)
    extract = blocking(KeepCalls.extract)
    export = blocking(KeepCalls.export)
    erase = blocking(KeepCalls.erase)

    @functools.wraps(KeepCalls.forget)
    def forget(self, what: str | Sequence[str], *, via: str | None = None, dry_run: bool = False) -> Forgotten:
        """Forget what the owner said about something, or some ids; ``undo`` of the answer brings it back."""
        told = self._wire.run(self._core.forget(what, via=via, dry_run=dry_run))
        return replace(told, take_back=lambda: self.unforget(str(told.id), via=via)) if told.done else told

    @property
    def name(self) -> str:
        """The keep's name, as the service knows it."""
        return self._wire.run(self._core.line.callers())[0].keep

    def session(
        self,
        name: str,
        *,
        mediated: bool = False,
        member: str | None = None,
        parent: str | None = None,
        learn: bool = True,
        tools: Iterable[Tool] = (),
    ) -> ServedSession:
        """A session of the host program. ``mediated`` declares that it reports everything the agent takes in."""
        core = SessionCalls(self._core, name)
        begin = self._core.begin(name, mediated=mediated, member=member, parent=parent, learn=learn, tools=tools)
        self._wire.run(begin)
        return ServedSession(self._wire, core)

    def bind(self, channel: str, *, session: str | None = None) -> ServedHandle:
        """A handle that uses the token of that channel and no other; this is what agent code is given."""
        self._wire.run(self._core.line.caller("read", channel))
        return ServedHandle(self._wire, HandleCalls(self._core, channel, session))

    def close(self) -> None:
        """Let go of the connections; closing twice is fine."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Keep({self.address!r})"


class ServedSession(Blocking[SessionCalls]):
    """One conversation, as the host program sees it."""

    observe = blocking(SessionCalls.observe)
    remember = blocking(SessionCalls.remember)
    recall = blocking(SessionCalls.recall)
    get_memories = blocking(SessionCalls.get_memories)
    check_action = blocking(SessionCalls.check_action)
    check_reply = blocking(SessionCalls.check_reply)
    observe_result = blocking(SessionCalls.observe_result)
    segment = blocking(SessionCalls.segment)
    plan = blocking(SessionCalls.plan)
    redeem = blocking(SessionCalls.redeem)
    extract = blocking(SessionCalls.extract)
    snapshot = blocking(SessionCalls.snapshot)

    @property
    def name(self) -> str:
        """The session's name."""
        return self._core.name

    @property
    def is_clean(self) -> bool:
        """Whether nothing foreign is in this session's context, as far as anybody can know."""
        return self._wire.run(self._core.keep.is_clean(self.name))

    def bind(self, channel: str) -> ServedHandle:
        """A handle for that channel within this session."""
        return ServedHandle(self._wire, HandleCalls(self._core.keep, channel, self.name))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The conversation is over, and can be distilled."""
        self._wire.run(self._core.end())


class ServedHandle(Blocking[HandleCalls]):
    """A capability: one channel, perhaps one session. It has no ``via``, no review, no audit and no credit."""

    remember = blocking(HandleCalls.remember)
    remember_many = blocking(HandleCalls.remember_many)
    update_memory = blocking(HandleCalls.update_memory)
    delete_memory = blocking(HandleCalls.delete_memory)
    recall = blocking(HandleCalls.recall)
    get_memories = blocking(HandleCalls.get_memories)
    get_memory = blocking(HandleCalls.get_memory)
    observe = blocking(HandleCalls.observe)
    check_action = blocking(HandleCalls.check_action)
    redeem = blocking(HandleCalls.redeem)
    confirm = blocking(HandleCalls.confirm)
    extract = blocking(HandleCalls.extract)
    snapshot = blocking(HandleCalls.snapshot)

    def forget(self, what: str | Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Forget what some words are about, or propose it, as the channel may."""
        told = self._wire.run(self._core.forget(what, dry_run=dry_run))
        back = self._core.keep
        return replace(told, take_back=lambda: self._wire.run(back.unforget(str(told.id)))) if told.done else told

    @property
    def is_clean(self) -> bool:
        """Whether nothing foreign is in this session's context, as far as anybody can know."""
        return self._wire.run(self._core.is_clean())

    @property
    def channel(self) -> str:
        """The channel it is bound to."""
        return self._core.channel

    @property
    def session(self) -> str | None:
        """The session it is bound to, if it is to one."""
        return self._core.session
