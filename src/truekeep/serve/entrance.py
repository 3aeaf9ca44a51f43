"""The entrance: who sends a request, known from its headers before anything of its body is read.

Whatever a request costs is charged to its token; without one, to the peer it comes from.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.requests import Request

from truekeep.errors import TruekeepError
from truekeep.serve.auth import Authenticator
from truekeep.serve.identity import Identity
from truekeep.serve.protocol import peer_of

if TYPE_CHECKING:
    from truekeep.serve.console.visits import Visits

ADMISSION = "truekeep.admission"
CONSOLE = "/console"


@dataclass(frozen=True, slots=True)
class Admission:
    """Who sends a request, or why nobody knows."""

    payer: str
    """Whom what it costs is charged to."""
    identity: Identity | None = None
    refusal: TruekeepError | None = None


class Entrance:
    """Looks at headers alone."""

    def __init__(self, authenticator: Authenticator, visits: Visits | None = None) -> None:
        self._authenticator = authenticator
        self._visits = visits

    async def admit(self, scope: MutableMapping[str, Any]) -> Admission:
        """Who sends it."""
        peer = f"host {peer_of(scope.get('client'))}"
        if self._visits is not None and scope["path"].startswith(CONSOLE):
            identity = await self._visitor(self._visits, Request(scope))
            return Admission(identity.token_id if identity else peer, identity)
        try:
            identity = await self._authenticator.identify(Request(scope).headers)
        except TruekeepError as refusal:  # no token, tokens that cannot be read, an issuer that does not answer
            return Admission(peer, refusal=refusal)
        return Admission(identity.token_id, identity)

    @staticmethod
    async def _visitor(visits: Visits, request: Request) -> Identity | None:
        """Who is signed in to the console; the book of visits may have to be read again, so not on the event loop."""
        cookie = visits.cookie_of(request.cookies)
        if not cookie:
            return None
        try:
            return await anyio.to_thread.run_sync(partial(visits.who, cookie, is_here=False))
        except TruekeepError:
            return None
