"""The door: signing in by a one-time link or a token, signing out, and how a person likes the pages."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from truekeep.errors import NotAllowed, NotAuthenticated
from truekeep.serve.console.desk import LANGUAGE, THEME, Seated, bare_page, spoken
from truekeep.serve.console.form import Form
from truekeep.serve.console.shell import PATH
from truekeep.serve.console.visits import COOKIE, SAFE_COOKIE, Visits
from truekeep.serve.console.words import LANGUAGES
from truekeep.serve.service import Service

router = APIRouter()
_YEAR = 365 * 86_400
_SECRET_CAP = 200
"""Longer than any link or token that this service makes."""


@router.get("/sign-in")
def sign_in_page(request: Request, then: str = "", once: str = "") -> Response:
    """Where a token is pasted; a one-time link is looked at here and spent by the button, never by a preview."""
    if not once:
        return bare_page(request, "sign_in.html", then=_local(then), failed="")
    invited = _visits(request).invited(once)
    if invited is None:
        return bare_page(request, "sign_in.html", status=401, then="", failed=spoken(request).t("frame.link_spent"))
    return bare_page(request, "welcome.html", once=once, invited=invited)


@router.post("/sign-in")
async def sign_in(request: Request, form: Form) -> Response:
    """Begin a visit. Whoever fails is told the same, whatever was wrong."""
    once, token = form.text("once", _SECRET_CAP), form.text("token", _SECRET_CAP)
    visits, then = _visits(request), _local(form.text("then"))
    try:
        old = visits.cookie_of(request.cookies)
        cookie, _ = await run_in_threadpool(*((visits.enter, once) if once else (visits.begin, token)))
        await run_in_threadpool(visits.end, old)
    except NotAuthenticated as error:
        service: Service = request.app.state.service
        service.metrics.count("truekeep_refused_total", code=error.code)
        told = spoken(request).t(f"frame.{error.code}")
        return bare_page(request, "sign_in.html", status=401, then=then, failed=told)
    answer = RedirectResponse(then or f"{PATH}/", status_code=303)
    _keep_cookie(request, answer, cookie)
    return answer


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    """End the visit, here and on the server."""
    visits = _visits(request)
    visits.end(visits.cookie_of(request.cookies))
    answer = RedirectResponse(f"{PATH}/sign-in", status_code=303)
    answer.delete_cookie(COOKIE, path=PATH)
    answer.delete_cookie(SAFE_COOKIE, path="/", secure=True)
    return answer


@router.post("/look")
def look(form: Form) -> Response:
    """Remember the language and whether pages are light or dark."""
    answer = RedirectResponse(_local(form.text("then")) or f"{PATH}/", status_code=303)
    language, theme = form.text("language", 10), form.text("theme", 10)
    if language in LANGUAGES:
        answer.set_cookie(LANGUAGE, language, max_age=_YEAR, path=PATH, samesite="strict", httponly=True)
    if theme in ("light", "dark"):
        answer.set_cookie(THEME, theme, max_age=_YEAR, path=PATH, samesite="strict", httponly=True)
    elif theme == "system":
        answer.delete_cookie(THEME, path=PATH)
    return answer


@router.get("/")
def start(desk: Seated) -> Response:
    """The only keep that a person may open, or a choice."""
    names = desk.keeps()
    if len(names) == 1:
        return RedirectResponse(f"{PATH}/k/{names[0]}/", status_code=303)
    return desk.page("keeps.html", names=names)


@router.get("/k/{keep}/")
def first_page(desk: Seated) -> Response:
    """The first page that the person may see."""
    entries = desk.entries()
    if not entries:
        raise NotAllowed("Your sign-in shows none of the pages.", code="role_missing", hint="For: review, or read.")
    return desk.back_to(desk.path(entries[0].path))


def _visits(request: Request) -> Visits:
    visits: Visits = request.app.state.visits
    return visits


def _local(path: str) -> str:
    """An address inside the console, or nothing: nobody is sent elsewhere from here."""
    parts = urlsplit(path)
    is_ours = path.startswith(f"{PATH}/") and not (parts.scheme or parts.netloc)
    return path if is_ours and path.isprintable() and "\\" not in path and "//" not in parts.path else ""


def _keep_cookie(request: Request, answer: Response, cookie: str) -> None:
    """Over TLS, here or at a proxy, under a name that only this host can set; in the open only on this machine."""
    settings = request.app.state.service.settings
    is_safe = (
        bool(settings.tls_certificate)
        or not settings.is_loopback
        or request.headers.get("origin", "").startswith("https://")
    )
    if is_safe:
        answer.set_cookie(SAFE_COOKIE, cookie, path="/", secure=True, httponly=True, samesite="strict")
    else:
        answer.set_cookie(COOKIE, cookie, path=PATH, httponly=True, samesite="strict")
