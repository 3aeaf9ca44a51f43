"""The console's shell: what every request passes before a page sees it, and every answer on its way out.

A request that changes something must come from the console's own pages: the browser says so in ``Sec-Fetch-Site``,
or its ``Origin`` is this very host. The cookie is ``SameSite=Strict`` besides. Answers may run no script and load
nothing that is not the console's own, and cannot be framed.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from truekeep.serve.problem import problem
from truekeep.serve.sender import Sender, sender_of

if TYPE_CHECKING:
    from truekeep.serve.bodies import App, Message, Receive, Scope, Send

PATH = "/console"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "X-Robots-Tag": "noindex",
}
_SAFE = frozenset({"GET", "HEAD"})


class Shell:
    """Stands around the console's application."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message.get("headers", ())))
                for name, value in _HEADERS.items():
                    headers[name] = value
                message = {**message, "headers": headers.raw}
            await send(message)

        if scope["method"] not in _SAFE and sender_of(Headers(scope=scope)) is not Sender.OWN_PAGE:
            detail = "This did not come from the console's own pages, so nothing was done."
            hint = "Open the console itself and do it there."
            await problem(403, "cross_origin", detail, hint=hint)(scope, receive, sending)
            return
        try:
            await self._app(scope, receive, sending)
        finally:
            # In logs and metrics a route is known by its whole template.
            route = getattr(scope.get("route"), "path", "")
            scope["route"] = SimpleNamespace(path=PATH + route)
