"""Tools as the operator's settings declare them: ``[tools."gmail_*"]`` tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from truekeep.errors import ConfigError, InvalidRequest
from truekeep.trust.flow.tools import Tool

_FIELDS = tuple(one.name for one in fields(Tool) if one.name != "name")


def declared_tools(table: Mapping[str, Any]) -> dict[str, Tool]:
    """The declarations by name or pattern. Anything that is not understood is an error, never ignored."""
    return {name: _declared(name, entry) for name, entry in table.items()}


def tool_from(table: Mapping[str, Any]) -> Tool:
    """A tool from JSON members, as a host sends it. Anything that is not understood is refused, never ignored."""
    if set(table) - {"name", *_FIELDS}:
        raise InvalidRequest(
            "A tool has members that are not known.", code="invalid_tool", hint=f"Members: name, {', '.join(_FIELDS)}."
        )
    return Tool(**{"name": "", **table})


def as_table(tool: Tool) -> dict[str, Any]:
    """A declaration as JSON members, from which it can be made again; what is at its default is left out."""
    # reads=False is no default: it is what keeps a tool named like a reading one from being taken for one.
    plain = {one.name: _plain(getattr(tool, one.name)) for one in fields(Tool)}
    return {name: value for name, value in plain.items() if value is not None and (value or name in ("name", "reads"))}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _declared(name: str, entry: Any) -> Tool:
    if not isinstance(entry, Mapping) or set(entry) - set(_FIELDS):
        raise ConfigError(f"[tools.{name!r}] takes {', '.join(_FIELDS)} only.")
    try:
        return Tool(name, **entry)
    except InvalidRequest as error:
        raise ConfigError(f"[tools.{name!r}] cannot be used. {error}", hint=error.hint) from error
