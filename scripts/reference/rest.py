"""The reference of the service, from its own OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reference.source import line


def document() -> Mapping[str, Any]:
    """The OpenAPI document that the service gives."""
    from fastapi import FastAPI

    from truekeep.serve.rest import ROUTERS
    from truekeep.serve.rest.openapi import describe

    app = FastAPI(title="truekeep", openapi_url=None)
    for router in ROUTERS:
        app.include_router(router)
    return describe(app).members()


def page() -> str:
    """Every route."""
    return "# REST\n\nThe service gives the same as `GET /openapi.json`, and as a page at `/console/reference`.\n\n" + (
        "\n".join(_routes())
    )


def _routes() -> Iterator[str]:
    from truekeep.serve.console.reference import described_routes

    for route in described_routes(document()):
        yield f"## `{route.method} {route.path}`\n\n{route.about}\n"
        if route.taken:
            yield "| name | in | needed | |\n|---|---|---|---|"
        for name, place, needed, words in route.taken:
            yield f"| `{name}` | {place} | {'yes' if needed else 'no'} | {line(words)} |"
        yield ""
