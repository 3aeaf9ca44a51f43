"""Key files: small JSON files that are written completely or not at all, and locked against a second writer."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truekeep.errors import KeyUnavailable, StoreReadOnly
from truekeep.stores.failures import failure

VERSION = 1


def read_entry(path: Path, kind: str) -> dict[str, Any]:
    """The content of a key file of that kind."""
    try:
        entry = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise KeyUnavailable(
            f"The key file is missing: {path}",
            hint="Restore it, or point TRUEKEEP_KEYS at the right directory.",
        ) from error
    except (OSError, ValueError) as error:
        raise KeyUnavailable(f"The key file cannot be read: {path}") from error
    if not isinstance(entry, dict) or entry.get("truekeep") != kind or entry.get("version") != VERSION:
        raise KeyUnavailable(f"Not a key file of this version: {path}")
    return entry


def write_new(path: Path, entry: Mapping[str, Any]) -> None:
    """Write once; when another process was first, its file stands."""
    write_once(path, _encoded(entry))


def write_once(path: Path, content: bytes, what: str = "A key") -> None:
    """Make a file that is there as a whole or not at all, whatever happens meanwhile; an existing one stands."""
    with _drafted(path, content, what) as draft:
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        sync_directory(path.parent)


def replace_entry(path: Path, entry: Mapping[str, Any]) -> None:
    """Put a new file in the place of the old one; a crash leaves one or the other."""
    with _drafted(path, _encoded(entry)) as draft:
        draft.rename(path)
        sync_directory(path.parent)


@contextmanager
def locked(directory: Path, *, tidy: bool = True) -> Iterator[None]:
    """One process at a time makes, rotates or destroys keys. To ``tidy``, every file there is looked at."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise failure(error.errno, f"The key directory cannot be written: {directory}", StoreReadOnly) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for draft in directory.glob("**/.*.key.*") if tidy else ():
            draft.unlink(missing_ok=True)  # left by a process that was killed; it may hold a key
        yield
    finally:
        os.close(handle)


@contextmanager
def _drafted(path: Path, content: bytes, what: str = "A key") -> Iterator[Path]:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield draft
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise failure(error.errno, f"{what} cannot be written to {path.parent}.", StoreReadOnly) from error


def _encoded(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def sync_directory(directory: Path) -> None:
    """Make renames and removals in a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
