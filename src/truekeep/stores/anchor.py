"""The anchor: the audit head and its number, kept outside the store so that an old copy of it is recognised.

Two slots are written in place by turns, each through to the disk; a torn write leaves the other slot. A store
behind its anchor was rolled back; a store ahead of it (a crash between commit and anchor) must extend it.
"""

from __future__ import annotations

import fcntl
import hmac
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from truekeep.errors import StoreReadOnly

_SLOT = struct.Struct(">8sQ32s32s")
_MAGIC = b"tkanchr1"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest event that is known to have happened."""

    seq: int
    hash: bytes


class FileAnchor:
    """The default anchor: one small file in the key directory, made with the keep's key and never again."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key
        self._handle: int | None = None

    def create(self) -> None:
        """Make the anchor of a keep in which nothing has happened yet; an existing one stands."""
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return
        except OSError as error:
            raise StoreReadOnly(f"The anchor cannot be made: {self.path}") from error
        try:
            os.write(handle, self._slot(Head(0, bytes(32))) + bytes(_SLOT.size))
            os.fsync(handle)
        finally:
            os.close(handle)

    def read(self) -> Head | None:
        """The newest head that was anchored, or none if the anchor is gone or damaged."""
        try:
            return self._newest(self.path.read_bytes())
        except FileNotFoundError:
            return None

    def advance(self, head: Head) -> None:
        """Move forward to ``head``; a later head that another process anchored stands."""
        try:
            handle = self._opened()
            fcntl.flock(handle, fcntl.LOCK_EX)
            try:
                known = self._newest(os.pread(handle, 2 * _SLOT.size, 0))
                if known is None or known.seq < head.seq:
                    os.pwrite(handle, self._slot(head), (head.seq % 2) * _SLOT.size)
            finally:
                fcntl.flock(handle, fcntl.LOCK_UN)
        except OSError as error:
            raise StoreReadOnly(f"The anchor cannot be written: {self.path}") from error

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _opened(self) -> int:
        if self._handle is None:
            self._handle = os.open(self.path, os.O_RDWR | os.O_DSYNC)
        return self._handle

    def _newest(self, data: bytes) -> Head | None:
        heads = [self._head(data[at : at + _SLOT.size]) for at in (0, _SLOT.size)]
        return max((head for head in heads if head), key=lambda head: head.seq, default=None)

    def _slot(self, head: Head) -> bytes:
        return _SLOT.pack(_MAGIC, head.seq, head.hash, self._mac(head.seq, head.hash))

    def _head(self, slot: bytes) -> Head | None:
        if len(slot) != _SLOT.size:
            return None
        magic, seq, digest, mac = _SLOT.unpack(slot)
        if magic != _MAGIC or not hmac.compare_digest(mac, self._mac(seq, digest)):
            return None
        return Head(seq, digest)

    def _mac(self, seq: int, digest: bytes) -> bytes:
        return hmac.digest(self._key, _MAGIC + seq.to_bytes(8, "big") + digest, "sha256")
