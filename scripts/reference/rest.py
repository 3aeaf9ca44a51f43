"""The reference of the service, from its own OpenAPI document and its table of who may do what."""

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
    """Every operation."""
    made = document()
    parts = (
        part
        for path, ways in made["paths"].items()
        for way, told in ways.items()
        for part in _operation(path, way, told, made)
    )
    return "# REST\n\nThe service gives the same as `GET /openapi.json`, and as a page of the console.\n\n" + "\n".join(
        parts
    )


def _operation(path: str, way: str, told: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[str]:
    yield f"## `{way.upper()} {path}`\n\n{' '.join(told.get('description', told.get('summary', '')).split())}\n"
    rows = [
        (one["name"], one["in"], one.get("required", False), one.get("description", ""))
        for one in told.get("parameters", ())
    ]
    rows += [(name, "body", name in needed, kind) for name, kind, needed in _body(told, made)]
    if rows:
        yield "| name | in | needed | |\n|---|---|---|---|"
        yield from (
            f"| `{name}` | {place} | {'yes' if needed else 'no'} | {line(words)} |"
            for name, place, needed, words in rows
        )
        yield ""
    yield f"Answers: {', '.join(f'{code}' for code in told['responses'])}\n"


def _body(told: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    for content in told.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        named = schema.get("$ref", "").rpartition("/")[2]
        schema = made["components"]["schemas"].get(named, schema)
        for name, one in schema.get("properties", {}).items():
            yield name, one.get("description") or _kind(one), schema.get("required", [])


def _kind(schema: Mapping[str, Any]) -> str:
    """What a member may be, in words."""
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    return str(schema.get("type") or schema.get("$ref", "").rpartition("/")[2] or "anything")
