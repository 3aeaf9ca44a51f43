"""Files in directories that others may be able to write.

Whoever can write beside our files can put a link, a pipe or a file of their own where we are about to open one: a
lock that leads to another lock hangs whoever needs that one, and a draft that leads elsewhere is written there. So
every file is opened here: no link is followed, nothing waits for the other end of a pipe, and what was opened must be
a regular file of ours under one name only. Content is written to a draft and put in its place as a whole.

All of it raises ``OSError``; rooms say what that means for them. A database is opened by its engine, not here: closing
a second descriptor of it would drop the engine's locks. ``require_plain`` looks at it without opening it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PAUSE = 0.05
_SHARED = "the file has another name, too"
_SUFFIX = ".truekeep-draft"
_BESIDE = ("-wal", "-shm", "-journal")
"""What a database engine may leave beside a draft."""
_DRAFT = re.compile(r"\..+\.[0-9a-f]{12}" + re.escape(_SUFFIX))
_OLD_DRAFT = re.compile(r"\..+\.(?:key|anchor|db|json)\.[0-9a-f]{12}")
"""How drafts beside keys and data were called up to 0.1.0."""


class UnsafeFile(PermissionError):
    """What is at that path is not a regular file of ours."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(errno.EPERM, what, str(path))


def opened(path: Path, flags: int, *, is_single: bool = True) -> int:
    """A descriptor of a regular file of ours; if it is to be written, one that has no other name (``is_single``)."""
    handle = os.open(path, flags | _SAFE, 0o600)
    try:
        _require_ours(os.fstat(handle), path)
        if is_single and flags & (os.O_WRONLY | os.O_RDWR) and os.fstat(handle).st_nlink != 1:
            _drop_own_draft(path, os.fstat(handle))
            if os.fstat(handle).st_nlink != 1:
                raise UnsafeFile(path, _SHARED)
    except BaseException:
        os.close(handle)
        raise
    return handle


def read(path: Path, most: int = 100_000_000) -> bytes:
    """The content of a file; one that is larger is refused."""
    with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
        return _bounded(file, path, most)


def read_of_anyone(path: Path, most: int) -> bytes:
    """The content of a regular file whoever owns it, for looking at only: a scanner looks at what others wrote."""
    with os.fdopen(os.open(path, os.O_RDONLY | _SAFE), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnsafeFile(path, "not a regular file")
        return _bounded(file, path, most)


def read_trusted(path: Path, most: int = 1_000_000) -> bytes:
    """The content of a file that decides what is run and who may do what: nobody else may be able to write it.

    A link is followed, because operators and orchestrators use them; what it leads to and where it lies is looked at.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeFile(path, "not a regular file")
        if others_can_write(path.parent) or _is_others(status, path.parent):
            raise UnsafeFile(path, "others can write the file or its directory")
        return _bounded(file, path, most)


def _bounded(file: BinaryIO, path: Path, most: int) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, "the file is too large", str(path))
    return content


def others_can_write(directory: Path) -> bool:
    """Whether somebody besides us and the administrator can put files into a directory."""
    return _is_others(directory.stat(), directory) and not os.statvfs(directory).f_flag & os.ST_RDONLY


def _is_others(status: os.stat_result, directory: Path) -> bool:
    """A group is somebody else unless it is our own; many systems give every user one."""
    own = os.geteuid()
    if status.st_uid not in (own, 0) and not (own == 0 and directory.stat().st_uid == status.st_uid):
        return True
    shared = status.st_mode & stat.S_IWGRP and status.st_gid not in (os.getegid(), 0)
    return bool(shared or (status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX))


def require_plain(path: Path) -> None:
    """Refuse anything but a regular file of ours under one name at a path, unopened; nothing there is fine."""
    with suppress(FileNotFoundError):
        status = path.lstat()
        _require_ours(status, path)
        if status.st_nlink != 1:
            raise UnsafeFile(path, _SHARED)


def make_private(path: Path) -> None:
    """Take everybody else's rights to a file of ours away, if there is one and somebody has any."""
    with suppress(FileNotFoundError):
        if path.lstat().st_mode & 0o077:
            path.chmod(0o600)


def make_directory(directory: Path) -> None:
    """Make a directory that is its owner's alone, with those above it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def create(path: Path) -> bool:
    """Make an empty private file, so that whoever opens it by name makes no other; false if something is there."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600))
    except FileExistsError:
        return False
    return True


def write_new(path: Path, content: bytes) -> None:
    """Make a file that is there as a whole or not at all; ``FileExistsError`` if there is something at the path."""
    with drafted(path, content) as draft:
        os.link(draft, path, follow_symlinks=False)
        sync_directory(path.parent)


def write_once(path: Path, content: bytes) -> None:
    """Make a file unless there is one: of several processes, the first one's stands."""
    with suppress(FileExistsError):
        write_new(path, content)


def replace(path: Path, content: bytes) -> None:
    """Put a new file in the place of the old one, or of whatever is there; a crash leaves one or the other."""
    with drafted(path, content) as draft:
        draft.rename(path)
        sync_directory(path.parent)


@contextmanager
def drafted(path: Path, content: bytes = b"") -> Iterator[Path]:
    """A private file beside the one that is to be made, on the disk with its content; gone afterwards unless renamed.

    It is locked meanwhile, by which ``tidy`` tells it from one that a killed process left.
    """
    draft, handle = _new_draft(path)
    try:
        if content:
            with os.fdopen(os.dup(handle), "wb") as file:
                file.write(content)
        os.fsync(handle)
        yield draft
    finally:
        for left in (draft, *(draft.with_name(draft.name + end) for end in _BESIDE)):
            left.unlink(missing_ok=True)
        os.close(handle)


def tidy(directory: Path, *, is_own: bool = False) -> int:
    """Remove drafts in a directory that killed processes left; how many. In our own, also those of older versions."""
    removed = 0
    for path in drafts(directory, is_own=is_own):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | _SAFE)
            try:
                _require_ours(os.fstat(handle), path)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for left in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
                    left.unlink(missing_ok=True)
                removed += 1
            finally:
                os.close(handle)
    return removed


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """One process at a time, in a directory of our own; ``TimeoutError`` when another one does not let go of it.

    Nobody can lead us astray there; a second name that somebody gives the lock elsewhere must not take it from us.
    """
    make_directory(path.parent)
    until = time.monotonic() + seconds
    while (handle := try_lock(path, is_single=False)) is None:
        if time.monotonic() > until:
            raise TimeoutError(errno.ETIMEDOUT, "another process holds the lock", str(path))
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        os.close(handle)


def try_lock(path: Path, *, is_single: bool = True) -> int | None:
    """A descriptor that holds the lock as long as it is open; none if somebody else has it."""
    handle = opened(path, os.O_RDWR | os.O_CREAT, is_single=is_single)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def sync(path: Path) -> None:
    """Bring a file's content through to the disk."""
    handle = opened(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_directory(directory: Path) -> None:
    """Make renames and removals in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _require_ours(status: os.stat_result, path: Path) -> None:
    """Ours is what we or the system's administrator own; to the administrator, what the directory's owner does."""
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeFile(path, "not a regular file")
    own = os.geteuid()
    if status.st_uid not in (own, 0) and not (own == 0 and path.parent.stat().st_uid == status.st_uid):
        raise UnsafeFile(path, "somebody else's file")


def _new_draft(path: Path) -> tuple[Path, int]:
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}{_SUFFIX}")
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE, 0o600)
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                return draft, handle
        os.close(handle)  # somebody tidied up in the moment in which it was made


def _drop_own_draft(path: Path, status: os.stat_result) -> None:
    """A process that was killed between giving a file its name and taking the draft's away left it with two."""
    for draft in drafts(path.parent):
        with suppress(OSError):
            if os.path.samestat(draft.lstat(), status):
                draft.unlink()


def drafts(directory: Path, *, is_own: bool = True) -> list[Path]:
    """What is named like a draft in a directory; in our own, also like those of older versions."""
    names = [entry.name for entry in os.scandir(directory)]
    patterns = (_DRAFT, _OLD_DRAFT) if is_own else (_DRAFT,)
    return [directory / name for name in names if any(pattern.fullmatch(name) for pattern in patterns)]
