"""The OpenAPI document: what is common to all resources, said once."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response
from starlette.routing import Route

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


class ServedDocument:
    """The document as it is sent: made once, and never on the event loop."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._made: dict[str, Any] | None = None
        self._sent: tuple[bytes, str] | None = None
        self._names: frozenset[str] | None = None

    def members(self) -> dict[str, Any]:
        """The document itself."""
        with self._lock:
            if self._made is None:
                self._made = _described(self._app)
            return self._made

    def names(self) -> frozenset[str]:
        """Every name that the service itself gives to a part of a request; any other was made up by its sender."""
        if self._names is None:
            self._names = frozenset({"body", "query", "path", "header", *_names(self.members())})
        return self._names

    async def answer(self, request: Request) -> Response:
        """The document, or that it is the one the client has."""
        if self._sent is None:
            self._sent = await run_in_threadpool(self._encoded)
        content, tag = self._sent
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type="application/json")

    def _encoded(self) -> tuple[bytes, str]:
        content = json.dumps(self.members(), ensure_ascii=False, separators=(",", ":")).encode()
        return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def describe(app: FastAPI) -> ServedDocument:
    """Have the application describe itself, with how callers are known."""
    document = ServedDocument(app)
    app.openapi = document.members  # type: ignore[method-assign]
    app.router.routes.append(Route("/openapi.json", endpoint=document.answer))
    return document


def _described(app: FastAPI) -> dict[str, Any]:
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
    return made


def _names(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from part.get("properties", {}) if isinstance(part.get("properties"), dict) else ()
        if isinstance(part.get("name"), str) and "in" in part:
            yield part["name"]
        for inner in part.values():
            yield from _names(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _names(inner)


def _problems_only(operation: dict[str, Any]) -> None:
    """Refusals come as problem+json, and as nothing else."""
    for code, answer in operation["responses"].items():
        content = answer.get("content", {})
        if code[0] in "45" and "application/json" in content:
            content[MEDIA_TYPE] = content.pop("application/json")
        elif code == "422":
            answer["content"] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
