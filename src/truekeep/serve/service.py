"""The service's shared parts, and one authenticated call: who asks, in which keep."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fastapi import Depends, Request
from starlette.responses import Response

from truekeep.audit.log import ERASURE, FORGETTING, Audit
from truekeep.errors import NotAllowed, NotAuthenticated, UnknownChannel
from truekeep.records.idempotency import RequestDone
from truekeep.serve.aliases import AliasBook
from truekeep.serve.drain import Drain
from truekeep.serve.entrance import ADMISSION, Admission
from truekeep.serve.replays import Attempt, Replays, digest
from truekeep.types import Verdict

if TYPE_CHECKING:
    from truekeep.serve.auth import Authenticator
    from truekeep.serve.capabilities import Permit
    from truekeep.serve.identity import Identity
    from truekeep.serve.limits import Buckets
    from truekeep.serve.metrics import Metrics
    from truekeep.serve.pool import Lease, Pool
    from truekeep.serve.settings import ServeSettings
    from truekeep.serve.tracing import Tracing
    from truekeep.serve.warmup import Warmup
    from truekeep.stores.postgres_service import SharedState

KEEP = "truekeep.keep"
"""Where the edge leaves the keep that an address names."""
KEEP_HEADER = "truekeep-keep"
_CALL = "truekeep.call"
_READING = frozenset({"GET", "HEAD"})
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
    drain: Drain = field(default_factory=lambda: Drain(0.0))
    tracing: Tracing | None = None
    """Where spans of requests go, if anywhere."""
    shared: SharedState | None = None
    """What all processes have together, where there is a database."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """One authenticated request. Its identity came from its token alone."""

    service: Service
    identity: Identity
    keep_name: str | None
    permit: Permit
    """What is asked for takes; the identity has it, and the channel is asked when the keep is opened."""
    session: str | None = None
    """The session that the address names: whatever is asked of it, it must not be another member's."""
    attempt: Attempt | None = None
    """What the client calls this request, should it have to send it again."""

    @property
    def reviewer(self) -> str:
        """Who decides: the token's holder, never a name in the body."""
        return self.identity.signs_as

    def once(self, do: Callable[[], Response], again: Again | None = None, *, is_receipt: bool = False) -> Response:
        """Answer a request that is sent again as it was answered before.

        This process remembers its answers, and shares them where keeps are in a database. What another one, or one
        before a restart, did under the key is known by the keep's note: ``again`` makes the answer of the verdicts in
        it. After an erasure no answer is given again but the one that ``is_receipt`` of it.
        """
        if self.attempt is None:
            return do()
        log = None if is_receipt else self
        return self.service.replays.once(self.attempt, log, lambda: _carried_out(do, again), is_made_anew=bool(again))

    def head(self) -> int:
        """How far the log of the keep goes that this call is about."""
        with self._log() as audit:
            return audit.head if audit is not None else 0

    def has_erased_since(self, head: int) -> bool:
        """Whether anything was erased or forgotten in that keep since its log went that far, by whichever process."""
        with self._log() as audit:
            return audit is not None and any(audit.events(after=head, kinds=[ERASURE, FORGETTING]))

    @contextmanager
    def _log(self) -> Iterator[Audit | None]:
        name = self.identity.keep(self.keep_name)
        if not self.service.pool.exists(name):
            yield None
            return
        with self.service.pool.borrow(name) as keep:
            yield keep.audit

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
        return digest(*_who(self), *map(str, listed), content)

    @contextmanager
    def lease(self, *, session: str | None = None, noted: bool = False) -> Iterator[Lease]:
        """The keep this call is about, for what the token and its channel both allow.

        ``session`` is one that the body names, where the address names none.
        ``noted`` has the one transaction in the block carry the client's key, so that it is never done twice.
        """
        pool, permit = self.service.pool, self.permit
        try:
            with (
                pool.handle(self.identity, self.keep_name, session=self.session or session, permit=permit) as lease,
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


def _carried_out(do: Callable[[], Response], again: Again | None) -> Response:
    try:
        return do()
    except RequestDone as done:
        if again is None:
            raise
        response = again(done.verdicts)
        response.headers["Idempotency-Replayed"] = "true"
        return response


def identified(request: Request, permit: Permit) -> ServiceCall:
    """Who calls, as the edge knows by the token, for something that takes this much."""
    service: Service = request.app.state.service
    admission: Admission = request.scope[ADMISSION]
    identity = admission.identity
    if identity is None:
        refusal = admission.refusal or NotAuthenticated("The request carries no token.")
        service.metrics.count("truekeep_refused_total", code=refusal.code)
        raise refusal
    keep = request.scope.get(KEEP, request.headers.get(KEEP_HEADER))
    if keep is not None:
        identity.keep(keep)  # another keep does not exist, whatever is asked of it
    permit.require(identity.capabilities)
    return ServiceCall(service, identity, keep, permit, request.path_params.get("session_id"))


async def admitted(request: Request, permit: Permit) -> None:
    """Let a request in whose token allows what it asks for, and note what its sender calls it, should it come again."""
    call = identified(request, permit)
    key = request.headers.get("idempotency-key")
    if key is not None and request.method not in _READING:
        body, token = await request.body(), call.identity.token_id
        call = replace(call, attempt=Attempt.of(_who(call), _what(request), key, body, token, _who(call)[0]))
    request.scope[_CALL] = call


def _who(call: ServiceCall) -> tuple[str, ...]:
    """Whose request it is, in which keep and with which rights: nobody's answer is another's.

    Tokens of an issuer can have one subject and different claims, so all that the token says is part of the name.
    """
    identity = call.identity
    named = (identity.keep(call.keep_name), identity.token_id, identity.subject, identity.keep_pattern)
    return (*named, identity.channel, *sorted(identity.capabilities))


def _what(request: Request) -> tuple[str, ...]:
    """What is asked for, beside the body."""
    return (request.method, request.url.path, request.url.query, request.headers.get("if-match", ""))


def _call(request: Request) -> ServiceCall:
    call: ServiceCall = request.scope[_CALL]
    return call


Caller = Annotated[ServiceCall, Depends(_call)]
