"""The desk: one request of a signed-in person, what they may do in which keep, and the page they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from truekeep.errors import NotAllowed, NotAuthenticated, StoreError, UnknownChannel
from truekeep.serve.capabilities import Permit, permit, permit_of_route
from truekeep.serve.console.rendering import rendered
from truekeep.serve.console.shell import PATH
from truekeep.serve.console.visits import Visits
from truekeep.serve.console.words import PageWords, chosen, words
from truekeep.serve.edge import IDENTITY
from truekeep.serve.identity import Identity, unknown_keep
from truekeep.serve.service import Service
from truekeep.types import Verification

if TYPE_CHECKING:
    from truekeep.keep import Keep

LANGUAGE, THEME = "truekeep-language", "truekeep-theme"
ROLES = {"reviewer": "review", "admin": "admin"}
"""A role of the console, and the capability of a token that gives it."""
_MOST_KEEPS = 200
"""Keeps that a page lists."""


@dataclass(frozen=True, slots=True)
class DeskEntry:
    """A page's place in the navigation: its name among the words, and its path inside a keep."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Desk:
    """What a page works with."""

    request: Request
    service: Service
    identity: Identity
    words: PageWords
    permit: Permit
    """What the page takes; the identity has it, and the channel is asked when the keep is opened."""
    keep_name: str | None = None

    @property
    def by(self) -> str:
        """The name under which whatever this person decides is audited; it comes from their token or link."""
        return self.identity.signs_as

    def may(self, role: str) -> bool:
        """Whether they are a ``reviewer`` or an ``admin``."""
        return self.identity.may(ROLES[role])

    @property
    def may_read(self) -> bool:
        """Whether they may see memories, and not only what is held for review."""
        return self.identity.may("read")

    @contextmanager
    def open(self) -> Iterator[Keep]:
        """The keep that the page is about, if the person's channel may do there what the page does."""
        with self._borrowed() as keep:
            self._require_channel(keep)
            yield keep

    @contextmanager
    def _borrowed(self) -> Iterator[Keep]:
        """The keep. No page makes one."""
        name = self.identity.keep(self.keep_name)
        if not self.service.pool.exists(name):
            raise unknown_keep()
        with self.service.pool.borrow(name, self.identity.token_id) as keep:
            yield keep

    def _require_channel(self, keep: Keep) -> None:
        try:
            is_allowed = not self.permit.channel or self.permit.suits(keep.channels.get(self.identity.channel))
        except UnknownChannel:
            is_allowed = False
        if not is_allowed:
            wanted = " nor ".join(self.permit.channel)
            raise NotAllowed(f"Your channel may not {wanted} in this keep.", code="role_missing")

    def decides_as(self, keep: Keep) -> str:
        """The channel over which this person says yes or no for the owner: a member's own, else the owner's."""
        return self.identity.channel if keep.channels.get(self.identity.channel).may("confirm") else "user"

    def keeps(self) -> list[str]:
        """The keeps they may open, so many as a menu holds; another does not exist for them."""
        pattern = self.identity.keep_pattern
        return [name for name in self.service.pool.names() if fnmatchcase(name, pattern)][:_MOST_KEEPS]

    def path(self, *parts: str, **query: object) -> str:
        """An address inside the keep."""
        path = "/".join((PATH, "k", quote(self.keep_name or "", safe=""), *(quote(part, safe="") for part in parts)))
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return f"{path}?{urlencode(given)}" if given else path

    def back_to(self, path: str) -> Response:
        """After something was done: go and look, so that a reload does not do it again."""
        return RedirectResponse(path, status_code=303)

    def page(self, template: str, /, status: int = 200, **context: Any) -> Response:
        """A page, with the frame around it."""
        state, waiting = self._state()
        frame = {"desk": self, "entries": self.entries(), "state": state, "waiting": waiting, **_look(self.request)}
        html = rendered(template, self.words, {"here": "", **frame, **context})
        return HTMLResponse(html, status_code=status)

    def entries(self) -> list[DeskEntry]:
        """The pages that they may see."""
        entries: tuple[DeskEntry, ...] = self.request.app.state.entries
        return [
            entry
            for entry in entries
            if permit("console", f"GET /k/{{keep}}/{entry.path}").allows(self.identity.capabilities)
        ]

    def _state(self) -> tuple[Verification | None, int]:
        """Whether the open keep is what its log left behind, and how much waits; the frame always says so."""
        if self.keep_name is None:
            return None, 0
        try:
            with self._borrowed() as keep:
                state = keep.audit.state()
                return state, keep.review.count() + self._calls(keep) + int(not state.ok)
        except StoreError as error:
            return Verification(False, 0, 0, (str(error),)), 0

    def _calls(self, keep: Keep) -> int:
        """How many calls wait for this person; for a channel that this keep does not know, none do."""
        try:
            return len(keep.actions.pending(via=self.decides_as(keep)))
        except UnknownChannel:
            return 0


_ASKING: set[Callable[[Request], Desk]] = set()


def signed_in(*, is_here: bool = True) -> Callable[[Request], Desk]:
    """What a path function depends on: the desk of a person who is signed in and may have the page."""

    def dependency(request: Request) -> Desk:
        desk = _desk(request, is_here=is_here)
        if desk.keep_name is not None and not desk.service.pool.exists(desk.identity.keep(desk.keep_name)):
            request.state.desk = replace(desk, keep_name=None)  # the page that says so is about no keep
            raise unknown_keep()
        request.state.desk = desk
        desk.permit.require(desk.identity.capabilities, code="role_missing")
        return desk

    _ASKING.add(dependency)
    return dependency


def asks_for_a_desk(call: object) -> bool:
    """Whether this is a dependency that lets in only a person who is signed in and may have the page."""
    return call in _ASKING


Seated = Annotated[Desk, Depends(signed_in())]
Watcher = Annotated[Desk, Depends(signed_in(is_here=False))]
"""A page that looks for news by itself; a tab that is left open does not keep its person signed in."""


def spoken(request: Request) -> PageWords:
    """The words for whoever sent a request."""
    return words(chosen(request.cookies.get(LANGUAGE), request.headers.get("accept-language", "")))


def bare_page(request: Request, template: str, /, status: int = 200, **context: Any) -> Response:
    """A page for somebody who is not signed in."""
    frame = {"desk": None, "entries": [], "state": None, "waiting": 0, "here": "", **_look(request)}
    return HTMLResponse(rendered(template, spoken(request), {**frame, **context}), status_code=status)


def _desk(request: Request, *, is_here: bool) -> Desk:
    visits: Visits = request.app.state.visits
    identity = visits.who(visits.cookie_of(request.cookies), is_here=is_here)
    if identity is None:
        raise NotAuthenticated("You are not signed in.", code="not_signed_in")
    request.scope[IDENTITY] = identity
    named = request.path_params.get("keep")
    if named is not None:
        identity.keep(named)  # another keep does not exist, whatever is asked of it
    needed = permit_of_route("console", request.method, request.scope["route"].path)
    return Desk(request, request.app.state.service, identity, spoken(request), needed, named)


def _look(request: Request) -> dict[str, Any]:
    theme = request.cookies.get(THEME)
    query = f"?{request.url.query}" if request.url.query else ""
    return {"theme": theme if theme in ("light", "dark") else "", "address": request.url.path + query}
