"""The service's routes as a page: what the OpenAPI document says, for people who would rather read than parse it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from truekeep.serve.console.desk import Seated

router = APIRouter()
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DescribedRoute:
    """One way of calling the service."""

    method: str
    path: str
    about: str
    taken: tuple[tuple[str, str, bool, str], ...]
    """What it takes: name, where it stands, whether it is needed, and what it is."""


@router.get("/reference")
def reference(desk: Seated, request: Request) -> Response:
    """Every route that the service has, whoever may use it."""
    return desk.page("reference.html", routes=list(described_routes(request.app.state.document.members())))


def described_routes(document: Document) -> Iterator[DescribedRoute]:
    """The routes in the order in which they are in the document."""
    for path, ways in document["paths"].items():
        for method, told in ways.items():
            about = " ".join(str(told.get("description", "")).split())
            yield DescribedRoute(method.upper(), path, about, tuple(_taken(told, document)))


def _taken(told: Document, document: Document) -> Iterator[tuple[str, str, bool, str]]:
    for one in told.get("parameters", ()):
        yield one["name"], one["in"], bool(one.get("required")), one.get("description") or kind_of(one["schema"])
    for content in told.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        schema = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
        for name, one in schema.get("properties", {}).items():
            yield name, "body", name in schema.get("required", ()), one.get("description") or kind_of(one)


def kind_of(schema: Document) -> str:
    """What a member may be, in words."""
    if "anyOf" in schema:
        return " or ".join(kind_of(one) for one in schema["anyOf"])
    return str(schema.get("type") or schema.get("$ref", "").rpartition("/")[2] or "anything")
