"""The OpenAPI document: what is common to all resources, said once."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from truekeep.serve.problem import MEDIA_TYPE
from truekeep.serve.rest.models import Problem

_ABOUT = """Long-term memory for AI agents that cannot be poisoned into acting.

Who calls is known by the token alone: `Authorization: Bearer TOKEN`, or the token as the password of HTTP Basic. A
token for several keeps names one with the path prefix `/keeps/NAME` or the header `Truekeep-Keep`. Whatever a body says
of users, namespaces or roles grants nothing. 201 is stored, 202 waits for a person, 422 was rejected."""
_REFUSALS = {
    400: "Something in the request cannot be used.",
    401: "No token, or none that is valid.",
    403: "The token or its channel may not do this.",
    404: "Nothing here has that id. What is in another keep does not exist either.",
    408: "The request did not arrive in time.",
    409: "It was done already, or is being done.",
    413: "The body is too large.",
    422: "The body is not valid, or the gate rejected what it says.",
    429: "Too many requests.",
    503: "The service or this keep cannot be used now.",
}


def refusals(*more: int) -> dict[int | str, dict[str, Any]]:
    """How any resource may refuse; ``more`` are the statuses that only some use."""
    known = {**_REFUSALS, 412: "It was changed since it was read.", 428: "If-Match is missing."}
    codes = [*_REFUSALS, *more]
    return {code: {"description": known[code], "model": Problem, "content": {MEDIA_TYPE: {}}} for code in codes}


def describe(app: FastAPI) -> None:
    """Have the application describe itself, with how callers are known."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title="truekeep", version=app.version, description=_ABOUT, routes=app.routes)
            schemes = {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic", "description": "The token as the password."},
            }
            made.setdefault("components", {})["securitySchemes"] = schemes
            for path, operations in made["paths"].items():
                for operation in operations.values():
                    _problems_only(operation)
                    operation["security"] = [] if path.startswith("/v1/health") else [{"token": []}, {"password": []}]
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _problems_only(operation: dict[str, Any]) -> None:
    """Refusals come as problem+json, and as nothing else."""
    for code, answer in operation["responses"].items():
        content = answer.get("content", {})
        if code[0] in "45" and "application/json" in content:
            content[MEDIA_TYPE] = content.pop("application/json")
        elif code == "422":
            answer["content"] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
