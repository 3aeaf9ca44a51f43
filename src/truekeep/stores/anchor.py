"""Anchors: the audit head and its number, kept outside the store so that an old copy of it is recognised.

A store behind its anchor was rolled back; a store ahead of it (a crash between commit and anchor) must extend it.
There may be several; the store must be neither behind nor beside any of them. One kind is written in place, in two
slots by turns. The other is a file to which records are only added, for a volume (or ``chattr +a``) that allows nothing
else: whoever rolls the store back cannot take the newest record away.
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

from truekeep import disk
from truekeep.errors import AnchorUnavailable, StoreReadOnly
from truekeep.stores.base import failure

_MAGIC = b"tkanchr1"
_RECORD = struct.Struct(">8sIQ32s27s")
_MAC = 32
SIZE = _RECORD.size + _MAC
_LOOK_BACK = 64
"""Records that are tried from the end: crashes leave stumps between them, and each is stepped over."""


@dataclass(frozen=True, slots=True)
class AnchorHead:
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

    def read(self) -> AnchorHead | None:
        """The newest head that was anchored, or none if the anchor is gone or damaged."""

    def claimed(self) -> int:
        """The newest event anchored here under the keep's name, whoever's key made the record; 0 if there is none."""

    def advance(self, head: AnchorHead) -> None:
        """Move forward to ``head``, durably; a later head that another process anchored stands."""

    def restart(self, head: AnchorHead) -> None:
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

    def newest(self) -> AnchorHead | None:
        """The newest head in any of them."""
        return newest_of(anchor.read() for anchor in self.all)

    def claimed(self) -> int:
        """The newest event that any of them has under the keep's name, also if the keys that made it are gone."""
        return max((anchor.claimed() for anchor in self.all), default=0)

    def heads(self) -> list[tuple[str, AnchorHead | None]]:
        """What each of them says now, by its name."""
        return [(anchor.name, anchor.read()) for anchor in self.all]

    def advance(self, head: AnchorHead) -> None:
        """Move all of them forward."""
        for anchor in self.all:
            anchor.advance(head)

    def restart(self, head: AnchorHead) -> None:
        """Begin a new term in all of them."""
        for anchor in self.all:
            anchor.restart(head)

    def close(self) -> None:
        """Let go of all of them."""
        for anchor in self.all:
            anchor.close()


class AnchorRecords:
    """How a head is written down: fixed length, with a MAC that only the keep's keys can make."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def pack(self, head: AnchorHead) -> bytes:
        """A head as it is written down."""
        record = _RECORD.pack(_MAGIC, head.term, head.seq, head.hash, head.at.encode()[:27])
        return record + hmac.digest(self._key, record, "sha256")

    def unpack(self, data: bytes) -> AnchorHead | None:
        """The head behind ``pack``, or none if these bytes were not made with the key."""
        if len(data) != SIZE:
            return None
        record, mac = data[: _RECORD.size], data[_RECORD.size :]
        magic, term, seq, digest, at = _RECORD.unpack(record)
        if magic != _MAGIC or not hmac.compare_digest(mac, hmac.digest(self._key, record, "sha256")):
            return None
        return AnchorHead(seq, digest, at.rstrip(b"\0").decode("ascii", "replace"), term)


def number_in(data: bytes) -> int:
    """The highest number in those records, genuine or not: what is known when the keep's keys are gone."""
    found = (_RECORD.unpack_from(data, at) for at in range(0, len(data) - SIZE + 1, SIZE))
    return max((seq for magic, _, seq, _, _ in found if magic == _MAGIC), default=0)


def newest_of(heads: Iterable[AnchorHead | None]) -> AnchorHead | None:
    """The newest of several heads."""
    return max((head for head in heads if head), key=lambda head: (head.term, head.seq), default=None)


class FileAnchor:
    """Two slots in one small file, written in place by turns and through to the disk; a torn write leaves the other."""

    def __init__(self, path: Path, key: bytes, name: str = "keys") -> None:
        self.path = path
        self.name = name
        self._records = AnchorRecords(key)
        self._handle: int | None = None

    def create(self) -> None:
        """Make the anchor of a keep in which nothing has happened yet; an existing one stands."""
        if self.path.exists():
            return
        try:
            disk.make_directory(self.path.parent)
            disk.write_once(self.path, self._records.pack(AnchorHead(0, bytes(32))) + bytes(SIZE))
        except OSError as error:
            raise failure(error.errno, f"The anchor cannot be made: {self.path}", StoreReadOnly) from error

    def read(self) -> AnchorHead | None:
        """The newest head that was anchored, or none if the anchor is gone or damaged."""
        try:
            return newest_of(self._slots(disk.read(self.path)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be read: {self.path}") from error

    def claimed(self) -> int:
        """The newest event in the file, by whatever key."""
        return _number_in_file(self.path)

    def advance(self, head: AnchorHead) -> None:
        """Move forward to ``head``; a later head that another process anchored stands."""
        self._write(head, new_term=False)

    def restart(self, head: AnchorHead) -> None:
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

    def _write(self, head: AnchorHead, *, new_term: bool) -> None:
        try:
            handle = self._opened()
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                slots = self._slots(os.pread(handle, 2 * SIZE, 0))
                known = newest_of(slots)
                if known is None or new_term or known.seq < head.seq:
                    term = (known.term if known else 0) + new_term
                    record = self._records.pack(AnchorHead(head.seq, head.hash, head.at, term))
                    _write_all(handle, record, SIZE if slots[0] is known else 0)
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be written: {self.path}") from error

    def _slots(self, data: bytes) -> tuple[AnchorHead | None, AnchorHead | None]:
        return self._records.unpack(data[:SIZE]), self._records.unpack(data[SIZE : 2 * SIZE])

    def _opened(self) -> int:
        """The file at the path: one that was put there since the last write counts, not the one that is gone."""
        if self._handle is not None and not os.path.samestat(os.fstat(self._handle), self.path.lstat()):
            self.close()
        if self._handle is None:
            self._handle = disk.opened(self.path, os.O_RDWR | os.O_DSYNC)
        return self._handle


def _write_all(handle: int, record: bytes, offset: int) -> None:
    if os.pwrite(handle, record, offset) != len(record):
        raise OSError(errno.EIO, "the anchor was written in part")


class KnownHeads:
    """Heads of backups that were made, beside the keys: by them a backup is known when the keep itself is gone.

    Whoever has an old data key can make a copy that verifies, and cannot add to this list.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._records = AnchorRecords(hmac.digest(key, b"heads of backups", "sha256"))

    def add(self, head: AnchorHead) -> None:
        """Remember a head, durably."""
        if head in self:
            return
        disk.make_directory(self.path.parent)
        _append_record(self.path, self._records.pack(head), create=True)
        disk.sync_directory(self.path.parent)

    def __contains__(self, head: AnchorHead) -> bool:
        return any(known == head for known in self.all())

    def all(self) -> list[AnchorHead]:
        """The heads that are known."""
        try:
            data = disk.read(self.path)
        except FileNotFoundError:
            return []
        found = (self._records.unpack(data[at : at + SIZE]) for at in range(0, len(data), SIZE))
        return [head for head in found if head is not None]


class AppendAnchor:
    """Records in the order in which they were anchored; the newest is near the end."""

    def __init__(self, path: Path, key: bytes, name: str) -> None:
        self.path = path
        self.name = name
        self._records = AnchorRecords(key)

    def create(self) -> None:
        """Make the file of a keep in which nothing has happened yet; one with a whole record in it stands."""
        try:
            if self.path.exists() and self.path.stat().st_size >= SIZE:
                return
            disk.make_directory(self.path.parent)
            self._append(AnchorHead(0, bytes(32)), create=True)
            disk.sync_directory(self.path.parent)
        except OSError as error:
            raise failure(error.errno, f"The anchor cannot be made: {self.path}", StoreReadOnly) from error

    def read(self) -> AnchorHead | None:
        """The newest head that was anchored, or none if the file is gone or nothing in it is genuine."""
        try:
            handle = disk.opened(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be read: {self.path}") from error
        try:
            return self._newest(handle)
        finally:
            os.close(handle)

    def claimed(self) -> int:
        """The newest event in the file, by whatever key."""
        return _number_in_file(self.path)

    def advance(self, head: AnchorHead) -> None:
        """Add ``head``, unless it or a later one is there."""
        self._add(head, new_term=False)

    def restart(self, head: AnchorHead) -> None:
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

    def _add(self, head: AnchorHead, *, new_term: bool) -> None:
        try:
            known = self.read()
            if known is None and not self.path.exists():
                raise FileNotFoundError(self.path)
            if known is None or new_term or known.seq < head.seq:
                term = (known.term if known else 0) + new_term
                self._append(AnchorHead(head.seq, head.hash, head.at, term), create=False)
        except OSError as error:
            raise AnchorUnavailable(f"The anchor cannot be written: {self.path}") from error

    def _append(self, head: AnchorHead, *, create: bool) -> None:
        _append_record(self.path, self._records.pack(head), create=create)

    def _newest(self, handle: int) -> AnchorHead | None:
        count = os.fstat(handle).st_size // SIZE
        first = max(0, count - _LOOK_BACK)
        data = os.pread(handle, (count - first) * SIZE, first * SIZE)
        return newest_of(self._records.unpack(data[at : at + SIZE]) for at in range(0, len(data), SIZE))


def _number_in_file(path: Path) -> int:
    try:
        return number_in(disk.read(path)[-_LOOK_BACK * SIZE :])
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise AnchorUnavailable(f"The anchor cannot be read: {path}") from error


def _append_record(path: Path, record: bytes, *, create: bool) -> None:
    """Add a record at the end; a stump that a crash left there is filled up first."""
    handle = disk.opened(path, os.O_WRONLY | os.O_APPEND | os.O_DSYNC | (os.O_CREAT if create else 0))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        whole = bytes(-os.fstat(handle).st_size % SIZE) + record
        if os.write(handle, whole) != len(whole):
            raise OSError(errno.EIO, "the record was written in part")
    finally:
        os.close(handle)
