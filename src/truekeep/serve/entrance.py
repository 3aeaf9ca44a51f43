"""The entrance: who sends a request, known from its headers before anything of its body is read.

Whatever a request costs is charged to its token; without one, to the peer it comes from.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, MutableMapping
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
_MOST_KNOWN = 10_000
"""Credentials of which it is remembered whose they were."""
_CREDENTIALS = (b"authorization", b"cookie")


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
        self._known: OrderedDict[bytes, str] = OrderedDict()
        """Whom the requests with a credential were charged to, by its digest. It says who pays and lets nobody in."""

    @staticmethod
    def peer(client: Any) -> str:
        """Whom what a stranger sends is charged to."""
        return f"host {peer_of(client)}"

    def payer(self, client: Any, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Whom a request will probably be charged to, told at once: whose credential it was, or whose token it is."""
        given = [(name, value) for name, value in headers if name in _CREDENTIALS]
        for name, value in given:
            known = self._known.get(_digest(value))
            if known is None and name == b"authorization":
                known = self._authenticator.holder(value.decode("latin-1"))
            if known is not None:
                return known
        return self.peer(client)

    async def admit(self, scope: MutableMapping[str, Any]) -> Admission:
        """Who sends it."""
        admission = await self._admission(scope)
        if admission.identity is not None:
            for name, value in scope["headers"]:
                if name == (b"cookie" if self._is_console(scope) else b"authorization"):
                    self._known[_digest(value)] = admission.payer
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return admission

    def _is_console(self, scope: MutableMapping[str, Any]) -> bool:
        return self._visits is not None and scope["path"].startswith(CONSOLE)

    async def _admission(self, scope: MutableMapping[str, Any]) -> Admission:
        peer = self.peer(scope.get("client"))
        if self._visits is not None and self._is_console(scope):
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


def _digest(credential: bytes) -> bytes:
    return hashlib.blake2b(credential, digest_size=16).digest()
