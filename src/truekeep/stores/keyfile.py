"""Key files: small JSON files that are written completely or not at all, and locked against a second writer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truekeep import disk
from truekeep.errors import KeyUnavailable, StoreBusy, StoreReadOnly
from truekeep.stores.base import failure

VERSION = 1
_PATIENCE = 60.0
"""Seconds until another process that makes or rotates keys counts as one that hangs."""


def read_entry(path: Path, kind: str) -> dict[str, Any]:
    """The content of a key file of that kind."""
    try:
        entry = json.loads(disk.read(path))
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
    with _told(path):
        disk.write_once(path, _encoded(entry))


def replace_entry(path: Path, entry: Mapping[str, Any]) -> None:
    """Put a new file in the place of the old one; a crash leaves one or the other."""
    with _told(path):
        disk.replace(path, _encoded(entry))


@contextmanager
def locked(directory: Path, *, tidy: bool = True) -> Iterator[None]:
    """One process at a time makes, rotates or destroys keys. To ``tidy``, every file there is looked at."""
    with _lock(directory):
        for folder in (directory, directory / "keeps") if tidy else ():
            if folder.is_dir():
                disk.tidy(folder, is_own=True)  # what a process left that was killed may hold a key
        yield


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    lock = disk.locked(directory / ".lock", _PATIENCE)
    try:
        lock.__enter__()
    except TimeoutError as error:
        raise StoreBusy("Another process is changing keys.", code="keys_in_use", hint="Try again later.") from error
    except OSError as error:
        raise failure(error.errno, f"The key directory cannot be written: {directory}", StoreReadOnly) from error
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        disk.make_directory(path.parent)
        yield
    except OSError as error:
        raise failure(error.errno, f"A key cannot be written to {path.parent}.", StoreReadOnly) from error


def _encoded(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"
