"""Books: small lists beside the keys, which every serving process reads again as soon as one of them has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from truekeep.errors import KeyUnavailable
from truekeep.stores.keyfile import VERSION, locked, read_entry, replace_entry

Content = TypeVar("Content")


class Book(Generic[Content]):
    """One file of the key directory, written as a whole under the directory's lock and remembered until it changes."""

    def __init__(self, path: Path, kind: str, decode: Callable[[Mapping[str, Any]], Content]) -> None:
        self._path = path
        self._kind = kind
        self._decode = decode
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._known = decode({})

    def current(self) -> Content:
        """What it says now."""
        with self._lock:
            seen = self._stamp()
            if seen != self._seen:
                self._known = self.read()
                self._seen = seen
            return self._known

    @contextmanager
    def changing(self) -> Iterator[Content]:
        """What it says, while nobody else changes it."""
        with locked(self._path.parent, tidy=False):
            yield self.read()

    def read(self) -> Content:
        """What the file says; a book that was never written is empty."""
        if self._stamp() is None:
            return self._decode({})
        try:
            return self._decode(read_entry(self._path, self._kind))
        except (TypeError, KeyError, ValueError) as error:
            raise KeyUnavailable(f"Not a file of {self._kind}: {self._path}") from error

    def write(self, members: Mapping[str, Any]) -> None:
        """Put new content in the place of the old; a crash leaves one or the other."""
        replace_entry(self._path, {"truekeep": self._kind, "version": VERSION, **members})

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise KeyUnavailable(f"The {self._kind} cannot be read: {self._path}") from error
        return found.st_ino, found.st_mtime_ns, found.st_size
