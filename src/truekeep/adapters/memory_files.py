"""Files of an agent's own under ``/memories``, kept in a keep: paths that lead nowhere else, and notes that stay notes.

A file is a note of the agent's. It proves nothing and is recalled as nothing; it is *clean* if everything in it was
written in clean sessions. What is read from a clean file does not taint; what a tainted session wrote, changed or
named, taints whoever reads it. Texts are screened when they are written, and one that holds an attack is refused.
There are no links and no directories: a directory is what the paths of files have in common.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest

if TYPE_CHECKING:
    from truekeep.keep import Keep

ROOT = "/memories"
_PREFIX = "memory-file-"
_LONGEST_PATH = 500  # characters; it is shown whole in listings and errors
_MOST_FILES = 2_000  # a listing reads each of them


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file. ``clean``: nothing foreign was in any session that wrote, changed or named it."""

    path: str
    text: str
    clean: bool


def checked_path(path: object) -> str:
    """A path in its one spelling; any that could mean something outside ``/memories`` is refused."""
    if not isinstance(path, str) or not (path == ROOT or path.startswith(f"{ROOT}/")):
        raise InvalidRequest(f"Path must start with {ROOT}, got: {_shown(path)}", code="path_outside")
    parts = [part for part in path.removeprefix(ROOT).split("/") if part]
    if any(part in (".", "..") or "\\" in part or "%" in part for part in parts):
        raise InvalidRequest(f"Path {_shown(path)} would escape {ROOT} directory", code="path_outside")
    if len(path) > _LONGEST_PATH or not all(part.isprintable() for part in parts):
        raise InvalidRequest("A path has at most 500 printable characters.", code="invalid_path")
    return "/".join([ROOT, *parts])


def _shown(path: object) -> str:
    text = str(path)[:_LONGEST_PATH]
    return text if text.isprintable() else "a path with control characters"


class MemoryFiles:
    """The files of one keep."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self.lock = threading.RLock()

    def get(self, path: str) -> MemoryFile | None:
        """The file of that path."""
        found = self._keep.working.get(_name(path))
        return _file(found.data) if found is not None and found.data else None

    def under(self, path: str) -> list[MemoryFile]:
        """The files inside a directory, in the order of their paths."""
        names = [name for name in self._keep.working.list() if name.startswith(_PREFIX)]
        found = [_file(one.data) for name in names if (one := self._keep.working.get(name)) is not None and one.data]
        return sorted((one for one in found if one.path.startswith(f"{path}/")), key=lambda one: one.path)

    def put(self, file: MemoryFile) -> None:
        """Write a file; one that is refused leaves the old one as it was."""
        before = self.get(file.path)
        if before is None and len(self.under(ROOT)) >= _MOST_FILES:
            raise InvalidRequest(f"There are more than {_MOST_FILES:,} files.", code="store_too_large")
        self._keep.working.delete(_name(file.path))
        try:
            self._keep.working.put(_name(file.path), via="agent", data=asdict(file))
        except InvalidRequest:
            if before is not None:
                self._keep.working.put(_name(before.path), via="agent", data=asdict(before))
            raise

    def remove(self, path: str) -> None:
        """Let a file go."""
        self._keep.working.delete(_name(path))

    def move(self, file: MemoryFile, path: str, *, clean: bool) -> None:
        """Give a file another path: the name is its author's word as well."""
        self.put(replace(file, path=path, clean=file.clean and clean))
        self.remove(file.path)


def _name(path: str) -> str:
    return _PREFIX + hashlib.sha256(path.encode()).hexdigest()


def _file(data: Any) -> MemoryFile:
    row: Mapping[str, Any] = json.loads(json.dumps(dict(data)))
    return MemoryFile(str(row["path"]), str(row["text"]), row["clean"] is True)
