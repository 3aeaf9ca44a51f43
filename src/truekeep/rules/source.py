"""Read one YAML rule file into plain values with line numbers, under caps that no bomb gets past.

The file is composed from parser events rather than by a YAML constructor: nesting is a counter and not a
stack of calls, an alias is a repeated value that counts every time it is used, and only strings, numbers,
booleans, null, lists and maps can come out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

MAX_BYTES = 1_000_000
"""A rule file is read before anything is known about it."""
MAX_NODES = 50_000
"""Aliases of YAML can make a small file large."""
MAX_DEPTH = 40
"""The loader keeps a stack of it."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?[0-9]{1,18}\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?\Z")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())
}


class SourceError(ValueError):
    """A file that cannot be read as one rule document; carries the line."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


class Map(dict[str, Any]):
    """A YAML map that remembers the line of each key and its own."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}

    def line_of(self, key: str) -> int:
        """The line ``key`` stands on, or the map's own."""
        return self.lines.get(key, self.line)


class Seq(list[Any]):
    """A YAML list that remembers its line and its items' lines."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def read_bytes(path: Path) -> bytes:
    """The file's bytes, refused when it is larger than a rule file can honestly be."""
    with path.open("rb") as handle:
        data = handle.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SourceError(f"file is larger than {MAX_BYTES:,} bytes")
    return data


def decode(data: bytes) -> str:
    """The file's text; anything but UTF-8 is refused with the line of the first bad byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError("file is not valid UTF-8", line) from None


def compose(text: str) -> list[Any]:
    """Every document in ``text`` as plain values (usually one)."""
    composer = _Composer()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SourceError(f"not valid YAML: {error.problem or error.context}", mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise SourceError(f"not valid YAML: {str(error).splitlines()[0][:120]}") from None
    return composer.documents


@dataclass(slots=True)
class _Open:
    """A collection that is still being read."""

    value: Map | Seq
    anchor: str | None
    size_before: int
    key: str | None = None
    key_line: int = 0


class _Composer:
    """Turns parser events into values, counting nodes and nesting as it goes."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._size = 0

    def take(self, event: Any) -> None:
        """Handle one event of the YAML parser."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if not event.implicit[0] else plain(event.value)
            self._grow(1, line)
            self._keep(event.anchor, value, 1)
            self._place(value, line)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open(_Open(Map(line), event.anchor, self._size), line)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open(_Open(Seq(line), event.anchor, self._size), line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(line)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor or "", line)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._anchors.clear()

    def _grow(self, by: int, line: int) -> None:
        self._size += by
        if self._size > MAX_NODES:
            raise SourceError(f"document has more than {MAX_NODES:,} values", line)

    def _keep(self, anchor: str | None, value: Any, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, size)

    def _open(self, opened: _Open, line: int) -> None:
        self._grow(1, line)
        self._stack.append(opened)
        if len(self._stack) > MAX_DEPTH:
            raise SourceError(f"document is nested deeper than {MAX_DEPTH}", line)

    def _close(self, line: int) -> None:
        closed = self._stack.pop()
        if closed.key is not None:
            raise SourceError("key without a value", line)
        self._keep(closed.anchor, closed.value, self._size - closed.size_before)
        self._place(closed.value, closed.value.line)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            raise SourceError(f"alias '*{anchor[:40]}' refers to itself or to nothing", line)
        value, size = self._anchors[anchor]
        # Every use counts in full: nine aliases of nine aliases reach the cap long before they reach memory.
        self._grow(size, line)
        self._place(value, line)

    def _place(self, value: Any, line: int) -> None:
        if not self._stack:
            self.documents.append(value)
            return
        top = self._stack[-1]
        if isinstance(top.value, Seq):
            top.value.append(value)
            top.value.lines.append(line)
        elif top.key is None:
            self._take_key(top, value, line)
        else:
            top.value[top.key] = value
            top.value.lines[top.key] = top.key_line
            top.key = None

    def _take_key(self, top: _Open, value: Any, line: int) -> None:
        if isinstance(value, (Map, Seq)):
            raise SourceError("a list or map cannot be a key", line)
        key = "null" if value is None else str(value)
        if key in top.value:
            raise SourceError(f"key '{key[:60]}' is given twice", line)
        top.key, top.key_line = key, line


def plain(value: str) -> Any:
    """The value of an unquoted scalar: null, boolean, number or, by default, the string itself."""
    if value in _WORDS:
        return _WORDS[value]
    if _INT.match(value):
        return int(value)
    if _FLOAT.match(value):
        return float(value)
    return value
