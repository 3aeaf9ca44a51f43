"""An embedded keep with an async face: the methods of ``Keep``, its parts, its sessions and its handles, awaited.

>>> async with await AsyncKeep.open("alice") as keep:   # doctest: +SKIP
...     await keep.remember("I prefer dark mode", via="user")

A keep works on a file, so each call runs in a thread; the keep orders them as it does for any threads.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from truekeep.act.boundary import Boundary
from truekeep.act.grants import Grants
from truekeep.audit.log import Audit
from truekeep.extract.library import PromptLibrary
from truekeep.extract.working_memory import WorkingSessions
from truekeep.handles import Handle, Session
from truekeep.keep import Keep
from truekeep.review.decisions import Review
from truekeep.sessions.channels import Channels

if TYPE_CHECKING:
    from truekeep.trust.flow.tools import Tool

T = TypeVar("T")
C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
P = ParamSpec("P")


class Threaded(Generic[C_co]):
    """An object whose methods run in a thread and are awaited; what they do is its core's."""

    def __init__(self, core: C_co) -> None:
        self._core = core

    if not TYPE_CHECKING:  # what is listed is typed; what a core has besides is there all the same

        def __getattr__(self, name: str) -> Any:
            value = getattr(self._core, name)
            return functools.partial(asyncio.to_thread, value) if inspect.ismethod(value) else value


def threaded(method: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Threaded[C], P], Coroutine[Any, Any, T]]:
    """A core's method as one that is awaited."""

    @functools.wraps(method)
    async def call(self: Threaded[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self._core, *args, **kwargs)

    return call


class ThreadedReview(Threaded[Review]):
    """The review queue."""

    list = threaded(Review.list)
    count = threaded(Review.count)
    groups = threaded(Review.groups)
    facets = threaded(Review.facets)
    show = threaded(Review.show)
    chain = threaded(Review.chain)
    outlook = threaded(Review.outlook)
    approve = threaded(Review.approve)
    reject = threaded(Review.reject)
    decide = threaded(Review.decide)
    undo = threaded(Review.undo)
    lift = threaded(Review.lift)


class ThreadedAudit(Threaded[Audit]):
    """The audit log."""

    events = threaded(Audit.events)
    page = threaded(Audit.page)
    exported = threaded(Audit.exported)
    kinds = threaded(Audit.kinds)
    actors = threaded(Audit.actors)
    writes_by_day = threaded(Audit.writes_by_day)
    rejected_sources = threaded(Audit.rejected_sources)
    verify = threaded(Audit.verify)
    state = threaded(Audit.state)


class ThreadedActions(Threaded[Boundary]):
    """Tickets that wait for the owner, or for their call."""

    check = threaded(Boundary.check)
    reply = threaded(Boundary.reply)
    redeem = threaded(Boundary.redeem)
    redeem_together = threaded(Boundary.redeem_together)
    confirm = threaded(Boundary.confirm)
    decline = threaded(Boundary.decline)
    pending = threaded(Boundary.pending)
    why = threaded(Boundary.why)
    question = threaded(Boundary.question)
    took_in = threaded(Boundary.took_in)
    tool = threaded(Boundary.tool)
    evidence = threaded(Boundary.evidence)


class ThreadedGrants(Threaded[Grants]):
    """The owner's standing permissions."""

    add = threaded(Grants.add)
    list = threaded(Grants.list)
    remove = threaded(Grants.remove)
    standing = threaded(Grants.standing)


class ThreadedChannels(Threaded[Channels]):
    """The ways into the keep."""

    get = threaded(Channels.get)
    is_shared = threaded(Channels.is_shared)
    list = threaded(Channels.list)
    enrol = threaded(Channels.enrol)
    retire = threaded(Channels.retire)
    mute = threaded(Channels.mute)
    unmute = threaded(Channels.unmute)
    muted = threaded(Channels.muted)


class ThreadedWorking(Threaded[WorkingSessions]):
    """The sessions' working memory."""

    put = threaded(WorkingSessions.put)
    append = threaded(WorkingSessions.append)
    get = threaded(WorkingSessions.get)
    window = threaded(WorkingSessions.window)
    list = threaded(WorkingSessions.list)
    delete = threaded(WorkingSessions.delete)
    sweep = threaded(WorkingSessions.sweep)


class ThreadedPrompts(Threaded[PromptLibrary]):
    """The library of custom extraction prompts."""

    add = threaded(PromptLibrary.add)
    approve = threaded(PromptLibrary.approve)
    disable = threaded(PromptLibrary.disable)
    usable = threaded(PromptLibrary.usable)
    require_approved = threaded(PromptLibrary.require_approved)
    all = threaded(PromptLibrary.all)


class ThreadedHandle(Threaded[Handle]):
    """A capability: one channel, perhaps one session."""

    remember = threaded(Handle.remember)
    remember_many = threaded(Handle.remember_many)
    update_memory = threaded(Handle.update_memory)
    delete_memory = threaded(Handle.delete_memory)
    forget = threaded(Handle.forget)
    recall = threaded(Handle.recall)
    get_memories = threaded(Handle.get_memories)
    get_memory = threaded(Handle.get_memory)
    observe = threaded(Handle.observe)
    check_action = threaded(Handle.check_action)
    redeem = threaded(Handle.redeem)
    confirm = threaded(Handle.confirm)
    extract = threaded(Handle.extract)
    snapshot = threaded(Handle.snapshot)

    async def is_clean(self) -> bool:
        """Whether nothing foreign is in this session's context."""
        return await asyncio.to_thread(lambda: self._core.is_clean)


class ThreadedSession(Threaded[Session]):
    """One conversation, as the host program sees it."""

    observe = threaded(Session.observe)
    observe_result = threaded(Session.observe_result)
    remember = threaded(Session.remember)
    recall = threaded(Session.recall)
    get_memories = threaded(Session.get_memories)
    check_action = threaded(Session.check_action)
    check_reply = threaded(Session.check_reply)
    redeem = threaded(Session.redeem)
    plan = threaded(Session.plan)
    segment = threaded(Session.segment)
    extract = threaded(Session.extract)
    snapshot = threaded(Session.snapshot)

    @property
    def name(self) -> str:
        """The session's name."""
        return self._core.name

    async def is_clean(self) -> bool:
        """Whether nothing foreign is in this session's context."""
        return await asyncio.to_thread(lambda: self._core.is_clean)

    async def bind(self, channel: str, *, run: str | None = None) -> ThreadedHandle:
        """A handle for that channel within this session."""
        return ThreadedHandle(await asyncio.to_thread(self._core.bind, channel, run=run))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._core.__exit__, kind, error, trace)


class SessionBeginning:
    """A session that is being begun: ``await`` it, or enter it with ``async with``."""

    def __init__(self, beginning: Callable[[], Session]) -> None:
        self._beginning = beginning
        self._session: ThreadedSession | None = None

    def __await__(self) -> Generator[Any, None, ThreadedSession]:
        return self._begun().__await__()

    async def _begun(self) -> ThreadedSession:
        if self._session is None:
            self._session = ThreadedSession(await asyncio.to_thread(self._beginning))
        return self._session

    async def __aenter__(self) -> ThreadedSession:
        return await self._begun()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await (await self._begun()).__aexit__(kind, error, trace)


class ThreadedKeep(Threaded[Keep]):
    """One owner's memory. The methods of ``Keep``, awaited; ``AsyncKeep(keep)`` puts it over one that is open."""

    def __init__(self, keep: Keep) -> None:
        super().__init__(keep)
        self.name, self.settings, self.extraction = keep.name, keep.settings, keep.extraction
        self.review, self.audit = ThreadedReview(keep.review), ThreadedAudit(keep.audit)
        self.actions, self.grants = ThreadedActions(keep.actions), ThreadedGrants(keep.grants)
        self.channels, self.working = ThreadedChannels(keep.channels), ThreadedWorking(keep.working)
        self.prompts, self.requests = ThreadedPrompts(keep.prompts), keep.requests

    @classmethod
    async def open(cls, name: str, **options: Any) -> Self:
        """Open the keep of that name; the options are those of ``Keep.open``."""
        return cls(await asyncio.to_thread(functools.partial(Keep.open, name, **options)))

    remember = threaded(Keep.remember)
    weigh = threaded(Keep.weigh)
    remember_many = threaded(Keep.remember_many)
    update_memory = threaded(Keep.update_memory)
    delete_memory = threaded(Keep.delete_memory)
    restore = threaded(Keep.restore)
    pin = threaded(Keep.pin)
    unpin = threaded(Keep.unpin)
    proposed_pins = threaded(Keep.proposed_pins)
    forget = threaded(Keep.forget)
    consolidate = threaded(Keep.consolidate)
    recall = threaded(Keep.recall)
    get_memories = threaded(Keep.get_memories)
    browse = threaded(Keep.browse)
    sources = threaded(Keep.sources)
    get_memory = threaded(Keep.get_memory)
    history = threaded(Keep.history)
    snapshot = threaded(Keep.snapshot)
    check_action = threaded(Keep.check_action)
    credit = threaded(Keep.credit)
    trace = threaded(Keep.trace)
    exposures = threaded(Keep.exposures)
    blame = threaded(Keep.blame)
    reach = threaded(Keep.reach)
    revoke = threaded(Keep.revoke)
    rewind = threaded(Keep.rewind)
    undo = threaded(Keep.undo)
    account = threaded(Keep.account)
    incidents = threaded(Keep.incidents)
    observe = threaded(Keep.observe)
    observe_result = threaded(Keep.observe_result)
    is_clean = threaded(Keep.is_clean)
    segment = threaded(Keep.segment)
    plan = threaded(Keep.plan)
    plan_prompt = threaded(Keep.plan_prompt)
    take_plan = threaded(Keep.take_plan)
    check_reply = threaded(Keep.check_reply)
    extract = threaded(Keep.extract)
    export = threaded(Keep.export)
    erase = threaded(Keep.erase)
    destroy = threaded(Keep.destroy)
    describe = threaded(Keep.describe)
    close = threaded(Keep.close)

    def session(
        self,
        name: str,
        *,
        mediated: bool = False,
        member: str | None = None,
        parent: str | None = None,
        learn: bool = True,
        tools: Iterable[Tool] = (),
    ) -> SessionBeginning:
        """A session of the host program: ``await`` it, or enter it with ``async with``."""
        options = {"mediated": mediated, "member": member, "parent": parent, "learn": learn, "tools": tuple(tools)}
        return SessionBeginning(functools.partial(self._core.session, name, **options))  # type: ignore[arg-type]

    async def bind(self, channel: str, *, session: str | None = None, run: str | None = None) -> ThreadedHandle:
        """A handle that can do only what that channel may; this is what agent code is given."""
        return ThreadedHandle(await asyncio.to_thread(self._core.bind, channel, session=session, run=run))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


AsyncKeep = ThreadedKeep
"""Under the name that users know; ``truekeep.client`` has one for a keep that another process serves."""
