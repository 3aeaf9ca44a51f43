"""Maps of memory servers: which of their tools write, read and delete, and which arguments are texts or ids.

A map is data, and the operator names it: a server that is merely called like a memory server is judged like any other,
else it could have its calls carried out without the act boundary by naming them well.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from truekeep.disk import read_trusted
from truekeep.errors import ConfigError
from truekeep.protect.naming import reads_as_words

DOES = ("write", "read", "delete")
_MOST_DEEP, _MOST_BYTES = 16, 100_000
_TOKEN = re.compile(r"[\w.:@/+-]{1,64}", re.ASCII)
"""What can be an id, a kind or a date, and no sentence."""


class TooDeep(ValueError):
    """Values are nested deeper than anything a memory server takes."""


@dataclass(frozen=True, slots=True)
class MappedTool:
    """What one tool of a memory server does, and which of its arguments are texts or ids."""

    does: str
    texts: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()

    def texts_of(self, arguments: Mapping[str, Any]) -> list[str]:
        """Every text in a call's arguments, each once.

        An argument that the map does not know counts as text unless it is a mere token: servers take arguments under
        several names, and what is stored under another one is read all the same.
        """
        return list(dict.fromkeys(text for name, text in strings(arguments) if self._is_text(name, text)))

    def _is_text(self, name: str, text: str) -> bool:
        if not text.strip():
            return False
        return name in self.texts or not is_token(text)


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """A memory server's tools. What is not named here is judged as a tool with effects like any other."""

    name: str
    tools: Mapping[str, MappedTool]

    def does(self, tool: str) -> str:
        """``write``, ``read`` or ``delete``; empty for a tool that the map does not name."""
        return self.tools[tool].does if tool in self.tools else ""


def is_token(text: str) -> bool:
    """Whether a string can be an id, a kind or a date, and no sentence; one with hyphens for spaces is a sentence."""
    return _TOKEN.fullmatch(text) is not None and not reads_as_words(text)


def strings(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every string in a JSON value with the name of the member it stands in; names that are no tokens count, too."""
    if depth > _MOST_DEEP:
        raise TooDeep
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not is_token(str(key)):
                yield "", str(key)
            yield from strings(inner, str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner, name, depth + 1)


def shipped_maps() -> list[str]:
    """The maps that come with truekeep."""
    return sorted(one.name.removesuffix(".toml") for one in _folder().iterdir() if one.name.endswith(".toml"))


def memory_map(name: str) -> MemoryMap:
    """The map of that name, or of that file (``./mine.toml``)."""
    table = map_table(name)
    tools = table.get("tools")
    if not isinstance(tools, dict) or not tools:
        raise ConfigError("A map of a memory server needs [tools.…] tables.", hint="See the shipped maps.")
    return MemoryMap(str(table.get("name", "memory")), {key: _tool(key, entry) for key, entry in tools.items()})


def map_table(name: str) -> dict[str, Any]:
    """A map's file as it stands, with its cases."""
    try:
        if name in shipped_maps():
            return tomllib.loads((_folder() / f"{name}.toml").read_text("utf-8"))
        return tomllib.loads(read_trusted(Path(name), _MOST_BYTES).decode())
    except (OSError, ValueError):
        known = ", ".join(shipped_maps())
        raise ConfigError("There is no such map that can be read.", hint=f"Shipped: {known}; or a file.") from None


def _tool(name: str, entry: Any) -> MappedTool:
    """One tool's entry. Anything that is not understood is an error: a write taken for a read would miss the gate."""
    if not isinstance(entry, dict) or set(entry) - {"does", "texts", "ids"} or entry.get("does") not in DOES:
        raise ConfigError(f"[tools.{name!r}] takes does (write, read or delete), texts and ids only.")
    lists = [entry.get("texts", []), entry.get("ids", [])]
    if not all(isinstance(one, list) and all(isinstance(key, str) for key in one) for one in lists):
        raise ConfigError(f"[tools.{name!r}] lists texts and ids by the names of arguments.")
    return MappedTool(entry["does"], *map(frozenset, lists))


def _folder() -> Any:
    return resources.files("truekeep") / "data" / "mcp_maps"
