"""The formats that can be moved in, by name, and what a place is called as a source."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from truekeep.errors import InvalidRequest
from truekeep.protect.migrate import assistants, markdown, stores
from truekeep.protect.migrate.entries import Read
from truekeep.protect.migrate.source import is_sqlite, require_http, text_of

_TEXTS: dict[str, Callable[[str], Read]] = {
    "mem0": stores.mem0,
    "ams": stores.ams,
    "mcp-memory": stores.mcp_memory,
    "markdown": markdown.read,
    "chatgpt": assistants.chatgpt,
    "claude": assistants.claude,
}
_DATABASES: dict[str, Callable[[Path], Read]] = {"mem0": stores.mem0_history, "langgraph": stores.langgraph}


def read(name: str, place: str) -> Read:
    """The entries of a file or a service, in that format."""
    if "://" in place:
        require_http(place)
        if name != "ams":
            raise InvalidRequest(
                "Only an agent memory server is asked by its address.",
                code="source_not_a_file",
                hint="Export to a file, and name that.",
            )
        return stores.ams_service(place, os.environ.get("TRUEKEEP_SOURCE_TOKEN"))
    path = Path(place)
    if path.is_dir():
        raise InvalidRequest("That is a directory.", code="source_not_a_file", hint="Name a file in it.")
    if name in _DATABASES and (name not in _TEXTS or is_sqlite(path)):
        return _DATABASES[name](path)
    return _TEXTS[name](text_of(path))


def source_name(name: str, place: str) -> str:
    """What a place goes by as a source: its format, and the name of its file or host."""
    where = urlsplit(place).hostname or "" if "://" in place else Path(place).name
    return f"{name}:{where}"
