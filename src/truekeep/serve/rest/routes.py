"""Routes: who calls is known, and whether they may, before anything of a request's body is looked at."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from truekeep.serve.bodies import parsed
from truekeep.serve.capabilities import permit_of_route
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.service import admitted


class RestRoute(APIRoute):
    """A route of the table of capabilities. One that is not in it cannot be made."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The resource, behind its permit and with a body that was read within limits."""
        (method,) = sorted(self.methods or ())
        permit, answer = permit_of_route("rest", method, self.path), super().get_route_handler()

        async def guarded(request: Request) -> Response:
            asked = _JsonRequest(request.scope, request.receive)
            if not permit.is_open:
                await admitted(asked, permit)
            await asked.read()
            return await answer(asked)

        return guarded


class _JsonRequest(Request):
    """A request whose JSON is read once, strictly."""

    _value: Any = None

    async def read(self) -> None:
        """Read the body, if it is said to be JSON."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if kind.endswith("json") and (body := await self.body()):
            self._value = await parsed(body)

    async def json(self) -> Any:
        return self._value


def resource(prefix: str, tag: str) -> APIRouter:
    """The router of one resource."""
    return APIRouter(prefix=prefix, tags=[tag], responses=refusals(), route_class=RestRoute)
