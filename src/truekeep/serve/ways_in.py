"""Every way into the service is one that the table of capabilities knows, or the service does not start.

Routes are made behind their permit, and pages ask for the desk of a person who may have them; this looks at what was
really put together, so that a route somebody adds beside them, in whatever way, is not served to everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from truekeep.errors import ConfigError
from truekeep.serve.capabilities import table
from truekeep.serve.console.desk import asks_for_a_desk
from truekeep.serve.rest.routes import RestRoute


def require_permits(app: FastAPI, *, beside: frozenset[str]) -> None:
    """Refuse to serve an application with a route that has no permit; ``beside`` are paths that need none."""
    for route in _all(app.routes):
        if not isinstance(route, RestRoute) and getattr(route, "path", None) not in beside:
            raise _not_listed()


def require_page_permits(routes: Iterable[BaseRoute]) -> None:
    """Refuse to serve a console with a page that is not in the table, or that nobody has to be signed in for."""
    for route in _all(routes):
        if not isinstance(route, APIRoute):
            raise _not_listed()
        for method in route.methods or ():
            permit = table("console").get(f"{method} {route.path.rstrip('/') or '/'}")
            if permit is None or not (permit.is_open or any(map(asks_for_a_desk, _calls(route.dependant)))):
                raise _not_listed()


def _all(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """Every route, also of routers that were included and are looked into only when a request comes."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is None:
            yield route
        else:
            yield from _all(included.routes)


def _calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for below in dependant.dependencies:
        yield from _calls(below)


def _not_listed() -> ConfigError:
    return ConfigError(
        "A way into the service is not in its table of capabilities.",
        code="way_in_not_listed",
        hint="Add it to data/serve/capabilities.toml, as a resource behind its permit or a page of a signed-in person.",
    )
