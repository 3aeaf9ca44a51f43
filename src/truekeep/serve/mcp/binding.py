"""Binding: what an MCP connection was started with. Its keep, channel, session and person come from nothing it says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio

if TYPE_CHECKING:
    from truekeep.handles import Handle
    from truekeep.keep import Keep
    from truekeep.serve.turns import Turn

T = TypeVar("T")
ALL = frozenset({"read", "write", "delete"})


@dataclass(frozen=True, slots=True)
class Binding:
    """One keep over one channel within one session, and the channel of the person who can be asked, if any."""

    lease: Callable[[], AbstractContextManager[Keep]]
    channel: str
    session: str
    owner: str | None = None
    """Over which channel the yes of the person behind the client counts; without one nobody is asked."""
    holder: str = "stdio"
    """Who is connected: questions and answers of one holder are no other's."""
    allowed: frozenset[str] = ALL
    """What the connection's token allows at all; the channel must allow it as well."""
    turn: Turn | None = None
    """The call's turn among those of other tokens; over standard input there is nobody else."""

    def set_aside(self) -> AbstractAsyncContextManager[None]:
        """While a person is asked, others have the call's turn."""
        return self.turn.aside() if self.turn else nullcontext()

    async def as_agent(self, work: Callable[[Handle], T]) -> T:
        """Do something with just what the channel may."""
        return await self.as_host(lambda keep: work(keep.bind(self.channel, session=self.session)))

    async def as_host(self, work: Callable[[Keep], T]) -> T:
        """Do something as the host program, which alone may speak for the person."""

        def leased() -> T:
            with self.lease() as keep:
                return work(keep)

        async with self.turn.held() if self.turn else nullcontext():
            return await anyio.to_thread.run_sync(leased)
