"""The OpenAPI document as a source of requests: valid ones, and ones in which a single value is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Place = tuple[str | int, ...]


class Document:
    """What the service says that it takes."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, methods in self._document["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def body(self, operation: dict[str, Any]) -> dict[str, Any] | None:
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        return self._resolved(content["schema"]) if content else None

    def sample_of(self, method: str, path: str) -> Any:
        """A valid body for a route, or nothing if it takes none."""
        for known, there, operation in self.operations():
            if (known, there.rstrip("/")) == (method, path.rstrip("/")):
                schema = self.body(operation)
                return self.sample(schema) if schema is not None else None
        return None

    def sample(self, schema: dict[str, Any]) -> Any:
        """The least that fits a schema."""
        schema = self._resolved(schema)
        if "enum" in schema or "const" in schema:
            return schema["const"] if "const" in schema else schema["enum"][0]
        kind = schema.get("type")
        if kind == "object":
            return {name: self.sample(schema["properties"][name]) for name in schema.get("required", ())}
        if kind == "array":
            return [self.sample(schema["items"])]
        if schema.get("format") == "date-time":
            return "2026-01-01T00:00:00Z"
        return {"string": "s-1", "integer": 1, "number": 1.0, "boolean": True}.get(str(kind), "s-1")

    def places(self, schema: dict[str, Any], depth: int = 0) -> Iterator[Place]:
        """Every place in a body that a value can stand in."""
        schema = self._resolved(schema)
        if schema.get("type") == "object":
            for name, inner in schema.get("properties", {}).items() if depth < 3 else ():
                yield (name,)
                yield from ((name, *rest) for rest in self.places(inner, depth + 1))
        elif schema.get("type") == "array":
            yield (0,)
            yield from ((0, *rest) for rest in self.places(schema["items"], depth + 1))

    def planted(self, schema: dict[str, Any], place: Place, value: Any) -> Any:
        """A body that is valid but for one value."""
        body = self.sample(schema)
        at, here = body, schema
        for step, _ in pairwise(place):
            here = self._resolved(here)
            here = here["items"] if isinstance(step, int) else here["properties"][step]
            if isinstance(at, dict) and not isinstance(at.get(str(step)), dict | list):
                at[step] = self.sample(here)
            at = at[step]
        at[place[-1]] = value
        return body

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema:
            return self._resolved(self._document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]])
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return self._resolved(schema[union][0])
        return schema
