"""Where a keep's files are, and how they are opened or made together: key, anchor, database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from truekeep.config import Paths
from truekeep.errors import KeyUnavailable, StoreReadOnly, StoreTampered
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
    database = database_path(paths, keep)
    if not database.exists():
        _prepare(anchor, database)
    backend = SqliteBackend.open(database, keys.file, keys.cipher, busy_seconds=busy_seconds)
    ledger = Ledger(backend, Seal(keys), anchor, clock)
    try:
        ledger.open()
        if ledger.head.seq == 0:
            _found(ledger, keep, keys)
    except BaseException:
        ledger.close()
        raise
    return ledger


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


def _prepare(anchor: FileAnchor, database: Path) -> None:
    """Before the first event: an anchor at zero. With one beyond that, the database was taken away."""
    try:
        anchor.create()
    except OSError as error:
        raise StoreReadOnly(f"The anchor cannot be made: {anchor.path}") from error
    anchored = anchor.read()
    if anchored is None or anchored.seq > 0:
        raise StoreTampered("The keep's database file is gone.", code="store_missing", hint=f"Restore {database}.")


def _found(ledger: Ledger, keep: str, keys: KeepKeys) -> None:
    with ledger.writing() as entry:
        # Two processes may create one keep at the same moment; only the first writes its founding event.
        if entry.tip.head.seq == 0:
            entry.event("keep.created", keep=keep, cipher=keys.cipher)
