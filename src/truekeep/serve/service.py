"""The service's shared parts, and one authenticated call: who asks, in which keep."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Annotated, TypeAlias

from fastapi import Depends, Request
from starlette.responses import Response

from truekeep.errors import NotAllowed, NotAuthenticated, UnknownChannel
from truekeep.origin import require
from truekeep.requests import RequestDone
from truekeep.serve.aliases import AliasBook
from truekeep.serve.auth import Authenticator
from truekeep.serve.edge import IDENTITY, KEEP
from truekeep.serve.identity import Identity
from truekeep.serve.limits import Buckets
from truekeep.serve.metrics import Metrics
from truekeep.serve.pool import Lease, Pool
from truekeep.serve.replays import Attempt, Replays, digest
from truekeep.serve.settings import ServeSettings
from truekeep.serve.warmup import Warmup
from truekeep.types import Verdict

KEEP_HEADER = "truekeep-keep"
Again: TypeAlias = Callable[[tuple[Verdict, ...]], Response]
"""The answer to a request whose verdicts the keep has noted."""


@dataclass(frozen=True, slots=True)
class Service:
    """What all requests of one worker share."""

    pool: Pool
    authenticator: Authenticator
    buckets: Buckets
    metrics: Metrics
    settings: ServeSettings
    warmup: Warmup
    replays: Replays = field(default_factory=Replays)
    aliases: AliasBook = field(default_factory=AliasBook)


@dataclass(frozen=True, slots=True)
class Call:
    """One authenticated request. Its identity came from its token alone."""

    service: Service
    identity: Identity
    keep_name: str | None
    attempt: Attempt | None = None
    """What the client calls this request, should it have to send it again."""

    def once(self, do: Callable[[], Response], again: Again | None = None) -> Response:
        """Answer a request that is sent again as it was answered before.

        This process remembers its answers. What another one, or one before a restart, did under the key is known by the
        keep's note: ``again`` makes the answer of the verdicts in it.
        """
        if self.attempt is None:
            return do()
        return self.service.replays.once(self.attempt, lambda: _carried_out(do, again))

    def new_id(self, kind: str, place: int) -> str:
        """An id for what the client sent without one; sent again under the same key, it is the same."""
        if self.attempt is None:
            return secrets.token_hex(8)
        return digest(self.attempt.digest, kind, str(place))[:16]

    def request_name(self, ids: Iterable[str | None], content: str) -> str | None:
        """A name for a batch, by the client's key or by the ids it gave: stored once, also across a crash."""
        listed = list(ids)
        if self.attempt is not None:
            return self.attempt.digest
        if not listed or not all(listed):
            return None
        return digest(self.identity.token_id, *map(str, listed), content)

    @contextmanager
    def lease(self, capability: str, *, session: str | None = None, noted: bool = False) -> Iterator[Lease]:
        """The keep this call is about, for what the token and the token's channel both allow."""
        self.identity.require(capability)
        with self.open(session=session, noted=noted) as lease:
            yield lease

    @contextmanager
    def open(self, *, session: str | None = None, noted: bool = False) -> Iterator[Lease]:
        """The keep this call is about; what it may do there was checked, or is by whoever is asked.

        ``noted`` has the one transaction in the block carry the client's key, so that it is never done twice.
        """
        try:
            with (
                self.service.pool.handle(self.identity, self.keep_name, session=session) as lease,
                self.noting(lease) if noted else nullcontext(),
            ):
                yield lease
        except UnknownChannel as error:
            raise NotAllowed(
                "This token's channel is not one of this keep's.", code="channel_unknown", hint=error.hint
            ) from error

    def noting(self, lease: Lease) -> AbstractContextManager[None]:
        """The block's one transaction carries the client's key, if it sent one."""
        return lease.keep.requests.once(self.attempt.digest) if self.attempt is not None else nullcontext()

    def may(self, lease: Lease, capability: str) -> bool:
        """Whether both the token and its channel allow it."""
        return self.identity.may(capability) and lease.keep.channels.get(self.identity.channel).may(capability)

    def require_channel(self, lease: Lease, capability: str) -> None:
        """Refuse what the token's channel may not do in this keep."""
        require(lease.keep.channels.get(self.identity.channel), capability)


def _carried_out(do: Callable[[], Response], again: Again | None) -> Response:
    try:
        return do()
    except RequestDone as done:
        if again is None:
            raise
        response = again(done.verdicts)
        response.headers["Idempotency-Replayed"] = "true"
        return response


def identified(request: Request) -> Call:
    """Who calls, by the token; every call counts against its rate."""
    service: Service = request.app.state.service
    host = request.client.host if request.client else "unknown"
    try:
        identity = service.authenticator.identify(request.headers)
    except NotAuthenticated as error:
        service.metrics.count("truekeep_refused_total", code=error.code)
        service.buckets.take(f"host {host}")
        raise
    request.scope[IDENTITY] = identity
    service.buckets.take(identity.token_id)
    keep = request.scope.get(KEEP, request.headers.get(KEEP_HEADER))
    if keep is not None:
        identity.keep(keep)  # another keep does not exist, whatever is asked of it
    return Call(service, identity, keep)


async def caller(request: Request) -> Call:
    """Who calls, and what they call this request, should they send it again."""
    call = identified(request)
    key = request.headers.get("idempotency-key")
    if key is None or request.method in ("GET", "HEAD"):
        return call
    place = f"{call.keep_name} {request.method} {request.url.path}?{request.url.query}"
    return replace(call, attempt=Attempt.of(call.identity.token_id, place, key, await request.body()))


Caller = Annotated[Call, Depends(caller)]
