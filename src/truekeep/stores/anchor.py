"""Anchors: the audit head and its number, kept outside the store so that an old copy of it is recognised.

A store behind its anchor was rolled back; a store ahead of it (a crash between commit and anchor) must extend it.
There may be several; the store must be neither behind nor beside any of them.
"""

from __future__ import annotations

import errno
import fcntl
import hmac
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from truekeep.errors import AnchorUnavailable
from truekeep.stores.keyfile import write_once

_MAGIC = b"tkanchr1"
_RECORD = struct.Struct(">8sIQ32s27s")
_MAC = 32
SIZE = _RECORD.size + _MAC


@dataclass(frozen=True, slots=True)
class Head:
    """The newest event that is known to have happened."""

    seq: int
    hash: bytes
    at: str = field(default="", compare=False)
    """When it happened, as far as that is known."""
    term: int = field(default=0, compare=False)
    """How often a person has decided that an older or other history shall count; the newest term wins."""


class Anchor(Protocol):
    """One place outside the store. Heads are never taken back except by ``restart``."""

    name: str
    """How the settings call it, for messages and the audit log."""

    def create(self) -> None:
        """Make the anchor of a keep in which nothing has happened yet; an existing one stands."""

    def read(self) -> Head | None:
        """The newest head that was anchored, or none if the anchor is gone or damaged."""

    def advance(self, head: Head) -> None:
        """Move forward to ``head``, durably; a later head that another process anchored stands."""

    def restart(self, head: Head) -> None:
        """Begin a new term at ``head``, wherever it is: a person decided so. Makes the anchor if there is none."""

    def remove(self) -> None:
        """Take the anchor away with its keep."""

    def close(self) -> None:
        """Let go of what is held open."""


class Anchors:
    """All anchors of a keep. A head counts as anchored when every one of them has it."""

    def __init__(self, anchors: Sequence[Anchor]) -> None:
        self.all = tuple(anchors)

    def create(self) -> None:
        """Make those that are not there."""
        for anchor in self.all:
            anchor.create()

    def newest(self) -> Head | None:
        """The newest head in any of them."""
        return newest_of(anchor.read() for anchor in self.all)

    def advance(self, head: Head) -> None:
        """Move all of them forward."""
        for anchor in self.all:
            anchor.advance(head)

    def restart(self, head: Head) -> None:
        """Begin a new term in all of them."""
        for anchor in self.all:
            anchor.restart(head)

    def close(self) -> None:
        """Let go of all of them."""
        for anchor in self.all:
            anchor.close()


class Records:
    """How a head is written down: fixed length, with a MAC that only the keep's keys can make."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def pack(self, head: Head) -> bytes:
        """A head as it is written down."""
        record = _RECORD.pack(_MAGIC, head.term, head.seq, head.hash, head.at.encode()[:27])
        return record + hmac.digest(self._key, record, "sha256")

    def unpack(self, data: bytes) -> Head | None:
        """The head behind ``pack``, or none if these bytes were not made with the key."""
        if len(data) != SIZE:
            return None
        record, mac = data[: _RECORD.size], data[_RECORD.size :]
        magic, term, seq, digest, at = _RECORD.unpack(record)
        if magic != _MAGIC or not hmac.compare_digest(mac, hmac.digest(self._key, record, "sha256")):
            return None
        return Head(seq, digest, at.rstrip(b"\0").decode("ascii", "replace"), term)


def newest_of(heads: Iterable[Head | None]) -> Head | None:
    """The newest of several heads."""
    return max((head for head in heads if head), key=lambda head: (head.term, head.seq), default=None)


class FileAnchor:
    """Two slots in one small file, written in place by turns and through to the disk; a torn write leaves the other."""

    def __init__(self, path: Path, key: bytes, name: str = "keys") -> None:
        self.path = path
        self.name = name
        self._records = Records(key)
        self._handle: int | None = None

    def create(self) -> None:
        """Make the anchor of a keep in which nothing has happened yet; an existing one stands."""
        if not self.path.exists():
            write_once(self.path, self._records.pack(Head(0, bytes(32))) + bytes(SIZE), "An anchor")

    def read(self) -> Head | None:
        """The newest head that was anchored, or none if the anchor is gone or damaged."""
        try:
            return newest_of(self._slots(self.path.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be read: {self.path}") from error

    def advance(self, head: Head) -> None:
        """Move forward to ``head``; a later head that another process anchored stands."""
        self._write(head, new_term=False)

    def restart(self, head: Head) -> None:
        """Begin a new term at ``head``."""
        self.create()
        self._write(head, new_term=True)

    def remove(self) -> None:
        """Take the file away."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _write(self, head: Head, *, new_term: bool) -> None:
        try:
            handle = self._opened()
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                slots = self._slots(os.pread(handle, 2 * SIZE, 0))
                known = newest_of(slots)
                if known is None or new_term or known.seq < head.seq:
                    term = (known.term if known else 0) + new_term
                    record = self._records.pack(Head(head.seq, head.hash, head.at, term))
                    _write_all(handle, record, SIZE if slots[0] is known else 0)
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be written: {self.path}") from error

    def _slots(self, data: bytes) -> tuple[Head | None, Head | None]:
        return self._records.unpack(data[:SIZE]), self._records.unpack(data[SIZE : 2 * SIZE])

    def _opened(self) -> int:
        """The file at the path: one that was put there since the last write counts, not the one that is gone."""
        if self._handle is not None and not os.path.samestat(os.fstat(self._handle), self.path.stat()):
            self.close()
        if self._handle is None:
            self._handle = os.open(self.path, os.O_RDWR | os.O_DSYNC)
        return self._handle


def _write_all(handle: int, record: bytes, offset: int) -> None:
    if os.pwrite(handle, record, offset) != len(record):
        raise OSError(errno.EIO, "the anchor was written in part")
