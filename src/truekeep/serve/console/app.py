"""The console's application: its pages behind its shell, with refusals that a person can read."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from truekeep.errors import NotAuthenticated, TruekeepError
from truekeep.serve.console import (
    audit,
    backups,
    bulk,
    calls,
    channels,
    dashboard,
    deciding,
    door,
    grants,
    inbox,
    incident,
    keys,
    memories,
    one_memory,
    operate,
    prompts,
    reference,
    rendering,
    rewinding,
    sessions,
    source,
    tokens,
    tools,
)
from truekeep.serve.console.desk import bare_page, spoken
from truekeep.serve.console.shell import PATH, Shell
from truekeep.serve.console.visits import Visits
from truekeep.serve.problem import status_of
from truekeep.serve.rest.openapi import ServedDocument
from truekeep.serve.service import Service
from truekeep.serve.ways_in import require_page_permits

PAGES = (inbox, calls, sessions, memories, incident, audit, dashboard, operate)
"""A page is a module with a ``router`` and an ``ENTRY``."""
ENTRIES = tuple(page.ENTRY for page in PAGES)
_OPERATOR = (grants, tools, channels, tokens, prompts, backups, keys)
_BESIDE = (rendering, door, deciding, bulk, source, rewinding, reference, one_memory, *_OPERATOR)
"""What pages send their forms to, and what all of them use."""
ROUTERS = tuple(module.router for module in (*_BESIDE, *PAGES))


def mount(app: FastAPI, service: Service, visits: Visits, document: ServedDocument) -> None:
    """Serve the console under ``/console``."""
    console = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    console.state = State({"service": service, "visits": visits, "entries": ENTRIES, "document": document})
    for router in ROUTERS:
        console.include_router(router)
    require_page_permits(console.routes)
    _answer_errors(console)
    app.mount(PATH, Shell(console))


def _answer_errors(console: FastAPI) -> None:
    @console.exception_handler(NotAuthenticated)
    async def outside(request: Request, error: NotAuthenticated) -> Response:
        if request.method in ("GET", "HEAD"):
            then = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            asked = request.url.replace(path=f"{PATH}/sign-in", query="").include_query_params(then=then)
            return RedirectResponse(f"{asked.path}?{asked.query}", status_code=303)
        return await _told(request, 401, error.code, str(error), error.hint)

    @console.exception_handler(TruekeepError)
    async def ours(request: Request, error: TruekeepError) -> Response:
        return await _told(request, status_of(error), error.code, str(error), error.hint)

    @console.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        del error  # it holds what was sent
        return await _told(request, 400, "invalid_request", spoken(request).t("frame.invalid"), is_own=True)

    @console.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return await _told(
            request, error.status_code, "not_found", spoken(request).t("frame.nothing_here"), is_own=True
        )

    @console.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        del error  # the edge has logged it; a page is no place for what it may hold
        return await _told(request, 500, "internal_error", spoken(request).t("frame.went_wrong"), is_own=True)


async def _told(
    request: Request, status: int, code: str, detail: str, hint: str = "", *, is_own: bool = False
) -> Response:
    """A refusal as a page; with the frame around it for whoever is signed in. It always says what to do.

    ``is_own`` are words of the console, which are in the person's language already.
    """
    told = {"code": code, "detail": detail, "hint": hint, "is_own": is_own}
    desk = getattr(request.state, "desk", None)
    if desk is None:
        return bare_page(request, "problem.html", status=status, **told)
    return await run_in_threadpool(partial(desk.page, "problem.html", status=status, **told))
