"""The client that blocks: ``Keep``, its sessions and its handles, in the place of the embedded ones."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from truekeep.client.calls import HandleCalls, KeepCalls, SessionCalls
from truekeep.client.endpoint import Endpoint
from truekeep.client.exchange import Patience
from truekeep.client.line import Line
from truekeep.client.parts import ActionCalls, AuditCalls, ChannelCalls, ReviewCalls
from truekeep.client.shell import Blocking, blocking
from truekeep.client.talks import PromptCalls, WorkingCalls
from truekeep.client.wires import BlockingWire


class Review(Blocking[ReviewCalls]):
    """The review queue; decisions are signed with the name of the token's holder."""

    list = blocking(ReviewCalls.list)
    show = blocking(ReviewCalls.show)
    approve = blocking(ReviewCalls.approve)
    reject = blocking(ReviewCalls.reject)
    lift = blocking(ReviewCalls.lift)


class Audit(Blocking[AuditCalls]):
    """The audit log."""

    events = blocking(AuditCalls.events)
    verify = blocking(AuditCalls.verify)


class Actions(Blocking[ActionCalls]):
    """Tickets that wait for the owner, or for their call."""

    confirm = blocking(ActionCalls.confirm)
    decline = blocking(ActionCalls.decline)
    redeem = blocking(ActionCalls.redeem)
    pending = blocking(ActionCalls.pending)


class Channels(Blocking[ChannelCalls]):
    """The ways into the keep."""

    list = blocking(ChannelCalls.list)
    enrol = blocking(ChannelCalls.enrol)
    retire = blocking(ChannelCalls.retire)


class Working(Blocking[WorkingCalls]):
    """The sessions' working memory."""

    put = blocking(WorkingCalls.put)
    append = blocking(WorkingCalls.append)
    get = blocking(WorkingCalls.get)
    window = blocking(WorkingCalls.window)
    list = blocking(WorkingCalls.list)
    delete = blocking(WorkingCalls.delete)


class Prompts(Blocking[PromptCalls]):
    """The library of custom extraction prompts."""

    add = blocking(PromptCalls.add)
    approve = blocking(PromptCalls.approve)
    disable = blocking(PromptCalls.disable)
    usable = blocking(PromptCalls.usable)
    all = blocking(PromptCalls.all)


class Keep(Blocking[KeepCalls]):
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
        patience = Patience(timeout=timeout, retries=retries)
        endpoint = Endpoint.checked(address, token, patience, trust, unsafe_plain_http)
        wire, line = BlockingWire(endpoint), Line(endpoint.tokens, patience, keep)
        core = KeepCalls(line, lambda ticket, name, given: wire.run(core.redeem(ticket, name, given)))
        super().__init__(wire, core)
        self.address = endpoint.address
        self.review = Review(wire, ReviewCalls(core))
        self.audit = Audit(wire, AuditCalls(core))
        self.actions = Actions(wire, ActionCalls(core))
        self.channels = Channels(wire, ChannelCalls(core))
        self.working = Working(wire, WorkingCalls(core))
        self.prompts = Prompts(wire, PromptCalls(core))

    remember = blocking(KeepCalls.remember)
    remember_many = blocking(KeepCalls.remember_many)
    update_memory = blocking(KeepCalls.update_memory)
    delete_memory = blocking(KeepCalls.delete_memory)
    restore = blocking(KeepCalls.restore)
    observe = blocking(KeepCalls.observe)
    recall = blocking(KeepCalls.recall)
    get_memories = blocking(KeepCalls.get_memories)
    get_memory = blocking(KeepCalls.get_memory)
    history = blocking(KeepCalls.history)
    snapshot = blocking(KeepCalls.snapshot)
    check_action = blocking(KeepCalls.check_action)
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

    @property
    def name(self) -> str:
        """The keep's name, as the service knows it."""
        return self._wire.run(self._core.line.callers())[0].keep

    def session(self, name: str, *, mediated: bool = False, member: str | None = None) -> Session:
        """A session of the host program. ``mediated`` declares that it reports everything the agent takes in."""
        core = SessionCalls(self._core, name)
        self._wire.run(self._core.begin(name, mediated=mediated, member=member))
        return Session(self._wire, core)

    def bind(self, channel: str, *, session: str | None = None) -> Handle:
        """A handle that uses the token of that channel and no other; this is what agent code is given."""
        self._wire.run(self._core.line.caller("read", channel))
        return Handle(self._wire, HandleCalls(self._core, channel, session))

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


class Session(Blocking[SessionCalls]):
    """One conversation, as the host program sees it."""

    observe = blocking(SessionCalls.observe)
    remember = blocking(SessionCalls.remember)
    recall = blocking(SessionCalls.recall)
    get_memories = blocking(SessionCalls.get_memories)
    check_action = blocking(SessionCalls.check_action)
    redeem = blocking(SessionCalls.redeem)
    extract = blocking(SessionCalls.extract)
    snapshot = blocking(SessionCalls.snapshot)

    @property
    def name(self) -> str:
        """The session's name."""
        return self._core.name

    def bind(self, channel: str) -> Handle:
        """A handle for that channel within this session."""
        return Handle(self._wire, HandleCalls(self._core.keep, channel, self.name))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The conversation is over, and can be distilled."""
        self._wire.run(self._core.end())


class Handle(Blocking[HandleCalls]):
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

    @property
    def channel(self) -> str:
        """The channel it is bound to."""
        return self._core.channel

    @property
    def session(self) -> str | None:
        """The session it is bound to, if it is to one."""
        return self._core.session
