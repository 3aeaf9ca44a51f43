"""Where a keep's files are, and how they are opened or made together: key, anchor, database."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from truekeep.config import Paths
from truekeep.errors import KeyUnavailable, StoreCorrupt, StoreTampered
from truekeep.stores.anchor import FileAnchor
from truekeep.stores.keys import KeepKeys, Keyring
from truekeep.stores.ledger import Ledger
from truekeep.stores.seal import Seal
from truekeep.stores.sqlite import SqliteBackend


def database_path(paths: Paths, keep: str) -> Path:
    """The keep's database file."""
    return paths.data / f"{keep}.db"


def anchor_path(paths: Paths, keep: str) -> Path:
    """The keep's anchor, beside its key and apart from its data."""
    return paths.keys / "keeps" / f"{keep}.anchor"


def keep_names(paths: Paths) -> list[str]:
    """The keeps that have a key here."""
    return sorted(path.stem for path in (paths.keys / "keeps").glob("*.key"))


def open_ledger(paths: Paths, keep: str, clock: Callable[[], datetime], *, busy_seconds: float = 30.0) -> Ledger:
    """Open a keep's sealed store, verified; or make its key, anchor and database when there is none."""
    keys = _keys(paths, keep)
    anchor = FileAnchor(anchor_path(paths, keep), keys.audit)
    anchored = anchor.read()
    if anchored is not None and anchored.seq > 0:
        return _open(paths, keep, keys, anchor, clock, busy_seconds)
    with _founding(Keyring(paths.keys).path(keep)):
        if not database_path(paths, keep).exists():
            anchor.create()
        return _open(paths, keep, keys, anchor, clock, busy_seconds)


def _open(
    paths: Paths, keep: str, keys: KeepKeys, anchor: FileAnchor, clock: Callable[[], datetime], busy_seconds: float
) -> Ledger:
    database = database_path(paths, keep)
    anchored = anchor.read()
    if anchored is not None and anchored.seq > 0:
        _require(database)
    backend = SqliteBackend.open(database, keys.file, keys.cipher, busy_seconds=busy_seconds)
    ledger = Ledger(backend, Seal(keys), anchor, clock)
    try:
        ledger.open()
        if ledger.head.seq == 0:
            with ledger.writing() as entry:
                entry.event("keep.created", keep=keep, cipher=keys.cipher)
    except BaseException:
        ledger.close()
        raise
    return ledger


@contextmanager
def _founding(key_file: Path) -> Iterator[None]:
    """While nothing has happened yet, one of several processes that create the same keep goes first."""
    handle = os.open(key_file, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _keys(paths: Paths, keep: str) -> KeepKeys:
    keyring = Keyring(paths.keys)
    if keyring.exists(keep):
        return keyring.open(keep)
    if database_path(paths, keep).exists():
        raise KeyUnavailable(
            f"There is a database for this keep but no key: {keyring.path(keep)}",
            code="key_missing",
            hint="Restore the key directory, or point TRUEKEEP_KEYS at it.",
        )
    return keyring.create(keep)


def _require(database: Path) -> None:
    """Once something has happened, a file that is gone or empty is a loss and not a fresh start."""
    if not database.exists():
        raise StoreTampered("The keep's database file is gone.", code="store_missing", hint=f"Restore {database}.")
    if database.stat().st_size == 0:
        raise StoreCorrupt("The keep's database file is empty.", hint=f"Restore {database}.")
