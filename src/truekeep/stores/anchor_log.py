"""The append-only anchor: one record after another in a file that is never written in place.

Meant for a volume or a file (``chattr +a``) that only lets bytes be added: whoever rolls the store back cannot take
the newest record away. A crash in the middle of a record leaves a stump, which the next record steps over.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from truekeep.errors import AnchorUnavailable, StoreReadOnly
from truekeep.stores.anchor import SIZE, Head, Records, newest_of
from truekeep.stores.failures import failure
from truekeep.stores.keyfile import sync_directory

_LOOK_BACK = 64


class AppendAnchor:
    """Records in the order in which they were anchored; the newest is near the end."""

    def __init__(self, path: Path, key: bytes, name: str) -> None:
        self.path = path
        self.name = name
        self._records = Records(key)

    def create(self) -> None:
        """Make the file of a keep in which nothing has happened yet; one with a whole record in it stands."""
        try:
            if self.path.exists() and self.path.stat().st_size >= SIZE:
                return
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._append(Head(0, bytes(32)), create=True)
            sync_directory(self.path.parent)
        except OSError as error:
            raise failure(error.errno, f"The anchor cannot be made: {self.path}", StoreReadOnly) from error

    def read(self) -> Head | None:
        """The newest head that was anchored, or none if the file is gone or nothing in it is genuine."""
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be read: {self.path}") from error
        try:
            return self._newest(handle)
        finally:
            os.close(handle)

    def advance(self, head: Head) -> None:
        """Add ``head``, unless it or a later one is there."""
        self._add(head, new_term=False)

    def restart(self, head: Head) -> None:
        """Begin a new term at ``head``."""
        self.create()
        self._add(head, new_term=True)

    def remove(self) -> None:
        """Take the file away, where that is allowed; an append-only one stays and says nothing about content."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return

    def close(self) -> None:
        """Nothing is held open."""

    def _add(self, head: Head, *, new_term: bool) -> None:
        try:
            known = self.read()
            if known is None and not self.path.exists():
                raise FileNotFoundError(self.path)
            if known is None or new_term or known.seq < head.seq:
                term = (known.term if known else 0) + new_term
                self._append(Head(head.seq, head.hash, head.at, term), create=False)
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be written: {self.path}") from error

    def _append(self, head: Head, *, create: bool) -> None:
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_DSYNC | (os.O_CREAT if create else 0), 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            stump = os.fstat(handle).st_size % SIZE
            record = bytes(-stump % SIZE) + self._records.pack(head)
            if os.write(handle, record) != len(record):
                raise OSError("the anchor was written in part")
        finally:
            os.close(handle)

    def _newest(self, handle: int) -> Head | None:
        count = os.fstat(handle).st_size // SIZE
        first = max(0, count - _LOOK_BACK)
        data = os.pread(handle, (count - first) * SIZE, first * SIZE)
        return newest_of(self._records.unpack(data[at : at + SIZE]) for at in range(0, len(data), SIZE))
