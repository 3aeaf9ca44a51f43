"""The application: resources behind the edge, over one pool of keeps, with one way to refuse."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from truekeep import __version__
from truekeep.config import Settings
from truekeep.errors import MissingExtra, TruekeepError, is_plain_name
from truekeep.serve import mcp_http
from truekeep.serve.auth import Authenticator
from truekeep.serve.chores import Chores
from truekeep.serve.console import app as console
from truekeep.serve.console.shell import PATH
from truekeep.serve.console.visits import Visits
from truekeep.serve.deliveries import Deliveries
from truekeep.serve.drain import Drain
from truekeep.serve.edge import Edge
from truekeep.serve.entrance import Entrance
from truekeep.serve.limits import Buckets
from truekeep.serve.metrics import Metrics
from truekeep.serve.pool import Pool
from truekeep.serve.problem import DESCRIBED, problem, problem_of
from truekeep.serve.replays import Replays
from truekeep.serve.rest import ROUTERS
from truekeep.serve.rest.openapi import ServedDocument, describe
from truekeep.serve.service import Service
from truekeep.serve.settings import ServeSettings
from truekeep.serve.shelf import shared_state
from truekeep.serve.tokens import TokenBook
from truekeep.serve.warmup import Warmup
from truekeep.serve.ways_in import require_permits
from truekeep.trust.origin import keep_name

if TYPE_CHECKING:
    from truekeep.serve.tracing import Tracing

_WORDS = {404: ("not_found", "There is nothing at this address."), 405: ("method", "Not with this method.")}
_UNKNOWN = "(unknown)"
_UNICODE = "Send whole characters: an escape such as \\ud83d stands only before its other half."
_SPARE_THREADS = 4
_SWITCH_SECONDS = 0.0001
"""How long a thread may keep the interpreter while others want it. A recall gives it up a dozen times, whenever it asks
the database; with Python's 5 ms, two threads that never do would each time make it wait that long."""
_OBJECTS = 200_000
"""New objects before the garbage collector looks. It looks at all of them in one piece, in which nobody is served: the
values of two large bodies are half as many, take 10 to 40 ms, and are never garbage that only it would find. With
Python's 700 one large body has it look dozens of times, also at all that the open keeps hold."""


def create_app(
    home: str | Path | None = None,
    settings: Settings | None = None,
    serve: ServeSettings | None = None,
    *,
    when_warm: Callable[[], None] = lambda: None,
) -> Edge:
    """The whole service as an ASGI application; it opens keeps as they are asked for, and closes them at the end.

    ``when_warm`` is done once all that every request shares is loaded. A process that only serves has the garbage
    collector pass over that from then on (``gc.freeze``): it never becomes garbage, to look at all of it takes a
    tenth of a second in which nobody is served, and whoever makes many objects brings that about.
    """
    pool = Pool(home, settings=settings)
    chosen = serve or ServeSettings.load(pool.settings.serve)
    pool.shares.most = max(chosen.keeps, chosen.threads + 2)
    pool.shares.each = max(chosen.keeps_per_token, chosen.threads_per_token + 1)
    metrics, shared = Metrics(), shared_state(pool.paths, pool.settings)
    shelf = shared if shared is not None else pool.paths.keys
    service = Service(
        pool=pool,
        authenticator=Authenticator(TokenBook(shelf), chosen),
        buckets=Buckets(chosen.requests_per_second / chosen.processes, chosen.burst // chosen.processes),
        metrics=metrics,
        settings=chosen,
        warmup=Warmup(pool.paths, when_warm),
        replays=Replays(shared),
        shared=shared,
        drain=Drain(chosen.notice_seconds),
        tracing=_tracing(chosen, metrics),
    )
    app = FastAPI(
        title="truekeep",
        version=__version__,
        openapi_url=None,
        lifespan=_lifespan(service),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for router in ROUTERS:
        app.include_router(router)
    document = describe(app)
    _answer_errors(app, document)
    mcp_http.mount(app, service)
    visits = Visits(shelf, chosen) if chosen.console else None
    if visits is not None:
        console.mount(app, service, visits, document)
    require_permits(app, beside=frozenset({"/openapi.json", "/mcp", PATH}))
    return Edge(app, service, Entrance(service.authenticator, visits))


def from_environment() -> Edge:
    """The application of a worker process, which inherits its settings as variables."""
    from truekeep.serve.logs import configure  # noqa: PLC0415 - the parent process has its own

    configure()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    return create_app(when_warm=gc.freeze)


def _tracing(settings: ServeSettings, metrics: Metrics) -> Tracing | None:
    """What sends spans and figures away, where the operator wants it: nothing of it is imported otherwise."""
    if not settings.telemetry:
        return None
    try:
        from truekeep.serve.tracing import Tracing  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra("otel") from error
    return Tracing.over_otlp(metrics)


def _lifespan(service: Service) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Whoever has a turn finds a thread; the rest are for what is done before a turn is taken.
        chosen = service.settings
        anyio.to_thread.current_default_thread_limiter().total_tokens = max(1, chosen.threads) + _SPARE_THREADS
        chores = Chores(service.pool, chosen.chore_seconds, merge_hours=chosen.merge_hours, shared=service.shared)
        deliveries = Deliveries(service.pool, chosen.webhook_seconds, service.metrics, shared=service.shared)
        chores.start()
        deliveries.start()
        service.warmup.start()
        if chosen.unsafe_no_auth:
            # The operator named this keep, so it is there from the start; no caller's reading would make it.
            await anyio.to_thread.run_sync(lambda: _make(service.pool, chosen.unsafe_no_auth))
        try:
            with service.drain.listening():
                yield
        finally:
            # Requests are over by now; what is acknowledged is on the disk, so closing loses nothing.
            await anyio.to_thread.run_sync(chores.stop)
            await anyio.to_thread.run_sync(deliveries.stop)
            await anyio.to_thread.run_sync(service.pool.close)
            if service.tracing is not None:
                await anyio.to_thread.run_sync(service.tracing.close)

    return lifespan


def _make(pool: Pool, name: str) -> None:
    with pool.borrow(keep_name(name)):
        pass


def _answer_errors(app: FastAPI, document: ServedDocument) -> None:
    @app.exception_handler(TruekeepError)
    async def ours(_: Request, error: TruekeepError) -> Response:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        # Where and what kind, never what was sent: a member that nobody knows has a name that the sender chose, which
        # is repeated only if it could be one that was mistyped.
        known = await anyio.to_thread.run_sync(document.names)
        wrong = [{"where": _named(one["loc"], known), "kind": one["type"]} for one in error.errors()[:20]]
        first = ".".join(wrong[0]["where"])[:200] if wrong else "the request"
        return problem(422, "invalid_body", f"The request is not valid at {first}.", hint=DESCRIBED, errors=wrong)

    @app.exception_handler(UnicodeEncodeError)
    async def not_text(_: Request, error: UnicodeEncodeError) -> Response:
        del error  # it holds what was sent
        return problem(
            422, "text_not_unicode", "The request has lone surrogates, which are no characters.", hint=_UNICODE
        )

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        code, detail = _WORDS.get(error.status_code, ("invalid_request", "The request cannot be read."))
        return problem(error.status_code, code, detail, hint=DESCRIBED, headers=error.headers)

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> Response:
        return problem(500, "internal_error", "Something went wrong here.", hint=type(error).__name__)


def _named(place: tuple[int | str, ...], known: frozenset[str]) -> list[str]:
    return [str(part) if isinstance(part, int) or part in known or is_plain_name(part) else _UNKNOWN for part in place]
