"""Books: small lists that every serving process reads again as soon as one of them has changed.

They lie beside the keys; where keeps are in a database, they lie there, so that processes on all hosts have the same.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from truekeep.errors import KeyUnavailable
from truekeep.stores.keyfile import VERSION, locked, read_entry, replace_entry

if TYPE_CHECKING:
    from truekeep.stores.postgres_service import BookChange, SharedState

Content = TypeVar("Content")
Shelf: TypeAlias = "Path | SharedState"
"""Where the books of a home are: in its key directory, or in its database."""


_Read_co = TypeVar("_Read_co", covariant=True)


class Readable(Protocol[_Read_co]):
    """A book, wherever it is."""

    @property
    def is_remote(self) -> bool:
        """Whether looking at it takes a question over the network, which nobody may ask on the event loop."""

    def current(self) -> _Read_co:
        """What it says now."""

    def remembered(self) -> _Read_co:
        """What it said when it was last looked at."""

    def changing(self) -> AbstractContextManager[_Read_co]:
        """What it says, while nobody else changes it."""

    def write(self, members: Mapping[str, Any]) -> None:
        """Put new content in the place of the old, inside ``changing``."""


def book_on(shelf: Shelf, kind: str, decode: Callable[[Mapping[str, Any]], Content]) -> Readable[Content]:
    """The book of that kind."""
    if isinstance(shelf, Path):
        return Book(shelf / f"{kind}.json", kind, decode)
    return DatabaseBook(shelf, kind, decode)


class Book(Generic[Content]):
    """One file of the key directory, written as a whole under the directory's lock and remembered until it changes."""

    def __init__(self, path: Path, kind: str, decode: Callable[[Mapping[str, Any]], Content]) -> None:
        self._path = path
        self._kind = kind
        self._decode = decode
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._known = decode({})

    @property
    def is_remote(self) -> bool:
        """Looking at a file's stamp holds nobody up."""
        return False

    def remembered(self) -> Content:
        """What it says now: a look costs next to nothing."""
        return self.current()

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


class DatabaseBook(Generic[Content]):
    """A sealed row of the database that is asked for its version at every look, and read again when it has changed."""

    def __init__(self, shared: SharedState, kind: str, decode: Callable[[Mapping[str, Any]], Content]) -> None:
        self._shared = shared
        self._kind = kind
        self._decode = decode
        self._lock = threading.Lock()
        self._seen = 0
        self._known = decode({})
        self._open = threading.local()

    @property
    def is_remote(self) -> bool:
        """Whoever looks waits for the database."""
        return True

    def remembered(self) -> Content:
        """What it said when it was last looked at."""
        return self._known

    def current(self) -> Content:
        """What it says now. Whoever comes asks anew: a look that began before a change does not count after it."""
        version = self._shared.version(self._kind)
        with self._lock:
            if version != self._seen:
                book = self._shared.book(self._kind)
                self._known = self._decoded(book.data) if book is not None else self._decode({})
                self._seen = book.version if book is not None else 0
            return self._known

    @contextmanager
    def changing(self) -> Iterator[Content]:
        """What it says, while no process on any host changes it; what is written counts when the block has ended."""
        with self._shared.changing(self._kind) as change:
            self._open.change = change
            try:
                yield self._decoded(change.book.data)
            finally:
                del self._open.change

    def write(self, members: Mapping[str, Any]) -> None:
        """Put new content in the place of the old; only while it is being changed."""
        change: BookChange = self._open.change
        change.data = json.dumps({"version": VERSION, **members}).encode()

    def _decoded(self, data: bytes) -> Content:
        try:
            return self._decode(json.loads(data) if data else {})
        except (TypeError, KeyError, ValueError) as error:
            raise KeyUnavailable(f"The {self._kind} in the database are not of this version.") from error
