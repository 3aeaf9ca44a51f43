"""Where a keep is, and how its parts are opened or made together: key, anchors, database.

A keep is a file of its own, unless the setting ``store`` names a PostgreSQL database, in which all keeps are then.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep import disk
from truekeep.config import Paths, Settings
from truekeep.errors import ConfigError, KeyUnavailable, MissingExtra, StoreCorrupt, StoreTampered
from truekeep.stores.anchor import Anchor, Anchors, KnownHeads
from truekeep.stores.anchors import anchors_of
from truekeep.stores.chain import ADOPTED
from truekeep.stores.keys import KeepKeys, Keyring
from truekeep.stores.ledger import Ledger
from truekeep.stores.seal import Seal
from truekeep.stores.sqlite import SqliteBackend

if TYPE_CHECKING:
    from truekeep.stores.base import Backend
    from truekeep.stores.postgres_keys import DatabaseKeyring

_SCHEMES = ("postgresql://", "postgres://")


def database_path(paths: Paths, keep: str) -> Path:
    """The keep's database file."""
    return paths.data / f"{keep}.db"


def database_files(paths: Paths, keep: str) -> list[Path]:
    """The database file and what SQLite may keep beside it."""
    database = database_path(paths, keep)
    return [database, *(database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal"))]


def set_aside_files(paths: Paths, keep: str) -> list[Path]:
    """What restores took away of this keep, and of no other one whose name begins alike."""
    taken = "|".join(re.escape(path.name) for path in database_files(paths, keep))
    shape = re.compile(rf"(?:{taken})\.replaced-[0-9A-Za-z]+")
    found = paths.data.iterdir() if paths.data.is_dir() else ()
    return sorted(path for path in found if shape.fullmatch(path.name))


def offered_path(paths: Paths, keep: str, token: str) -> Path:
    """Where a backup lies that somebody sent and has not decided to put back: set aside, so it goes with those."""
    return paths.data / f"{keep}.db.replaced-offered{token}"


def anchor_path(paths: Paths, keep: str) -> Path:
    """The keep's own anchor, beside its key and apart from its data."""
    return paths.keys / "keeps" / f"{keep}.anchor"


def known_heads(paths: Paths, keep: str, keys: KeepKeys) -> KnownHeads:
    """The heads of the backups that were made of a keep."""
    return KnownHeads(paths.keys / "keeps" / f"{keep}.backups", keys.anchor)


def keyring(paths: Paths, settings: Settings) -> Keyring:
    """The keeps' keys, with the master key that the settings name."""
    return database_keyring(paths, settings) if settings.store else Keyring(paths.keys, settings.master_key)


def database_keyring(paths: Paths, settings: Settings) -> DatabaseKeyring:
    """The keys in the database that the settings name."""
    if not settings.store.startswith(_SCHEMES):
        raise ConfigError(
            "The setting store is not understood.",
            code="store_dsn",
            hint="Leave it empty for files, or give a connection string: postgresql://user@host/database.",
        )
    try:
        from truekeep.stores.postgres_keys import DatabaseKeyring  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra("postgres") from error
    return DatabaseKeyring(settings.store, paths.keys, settings.master_key)


def keep_names(paths: Paths, settings: Settings | None = None) -> list[str]:
    """The keeps that have a key here."""
    return keyring(paths, settings if settings is not None else Settings.load(paths.config)).names()


def open_ledger(paths: Paths, keep: str, clock: Callable[[], datetime], settings: Settings | None = None) -> Ledger:
    """Open a keep's sealed store, verified; or make its key, anchors and database when there is none."""
    settings = settings or Settings()
    if settings.store:
        return _opened_in_database(paths, keep, clock, settings)
    keys = _keys(paths, keep, settings)
    try:
        return _opened(paths, keep, keys, clock, settings)
    except StoreCorrupt:
        # While this process waited, another one may have encrypted the file with a new key.
        newer = _keys(paths, keep, settings)
        if newer == keys:
            raise
        return _opened(paths, keep, newer, clock, settings)


def _opened_in_database(paths: Paths, keep: str, clock: Callable[[], datetime], settings: Settings) -> Ledger:
    """Open or make a keep in the database. Another process may rotate its keys between two looks; then look again."""
    ring = keyring(paths, settings)
    for is_last in (False, True):
        keys = _keys_in_database(paths, ring, keep, settings)
        anchors = anchors_of(settings.anchor, paths.keys, keep, keys.anchor)
        try:
            return _verified(paths, keep, keys, anchors, clock, settings)
        except KeyUnavailable as error:
            if is_last or error.code not in ("keys_rotated", "key_outdated"):
                raise
    raise AssertionError("the loop returns or raises")


def _keys_in_database(paths: Paths, ring: Keyring, keep: str, settings: Settings) -> KeepKeys:
    """The keep's keys in one question, or new ones, unless a keep of that name is anchored: its key went with it."""
    try:
        return ring.open(keep)
    except KeyUnavailable:
        pass
    if not ring.exists(keep):
        missing = anchors_of(settings.anchor, paths.keys, keep, bytes(32)).claimed()
        if not missing:
            return ring.create(keep)
        if not ring.exists(keep):
            raise StoreTampered(
                f"The database has no keep of that name, but event {missing} of it happened; {missing} are missing.",
                code="store_rolled_back",
                hint="Bring the database's newest state back, or give the keep up with: truekeep destroy.",
                where=f"events 1 to {missing}",
            )
    return ring.open(keep)  # somebody made it between two looks; else what is wrong with its key is said


def open_backend(
    paths: Paths,
    keep: str,
    keys: KeepKeys,
    settings: Settings | None = None,
    *,
    busy_seconds: float | None = None,
    is_checked: bool = True,
) -> Backend:
    """The keep's database, by whichever key encrypts it now: a rotation that was cut off leaves the old or the new.

    Without ``is_checked`` also one whose schema was altered, for a person who decides that it is to be mended.
    """
    settings = settings or Settings()
    busy_seconds = settings.busy_seconds if busy_seconds is None else busy_seconds
    if settings.store:
        from truekeep.stores.postgres import PostgresBackend  # noqa: PLC0415 - an extra

        return PostgresBackend(settings.store, keep, keys, busy_seconds=busy_seconds)
    opened = partial(SqliteBackend.open, database_path(paths, keep), busy_seconds=busy_seconds, is_checked=is_checked)
    first, *others = keys.file_keys
    for key in others:
        try:
            return opened(key, keys.cipher)
        except StoreCorrupt:
            continue
    return opened(first, keys.cipher)


def _opened(paths: Paths, keep: str, keys: KeepKeys, clock: Callable[[], datetime], settings: Settings) -> Ledger:
    anchors = anchors_of(settings.anchor, paths.keys, keep, keys.anchor)
    anchored = anchors.newest()
    if anchored is not None and anchored.seq > 0:
        require_database(database_path(paths, keep))
        return _verified(paths, keep, keys, anchors, clock, settings)
    with _founding(keyring(paths, settings).path(keep)):
        if not database_path(paths, keep).exists():
            anchors.create()
        return _verified(paths, keep, keys, anchors, clock, settings)


def _verified(
    paths: Paths, keep: str, keys: KeepKeys, anchors: Anchors, clock: Callable[[], datetime], settings: Settings
) -> Ledger:
    backend = open_backend(paths, keep, keys, settings)
    if settings.store and backend.last_event() is None:
        anchors.create()
    known = _known_anchors(backend, anchors)
    trusted = [anchor for anchor in anchors.all if anchor.name in known or _has_begun(anchor)]
    checked = Anchors(trusted or anchors_of("keys", paths.keys, keep, keys.anchor).all)
    ledger = Ledger(backend, Seal(keys), checked, clock)
    try:
        ledger.open()
        if ledger.head.seq == 0:
            with ledger.writing() as entry:
                if ledger.head.seq == 0:  # another process may have been first, and this one has caught up with it
                    names = [one.name for one in anchors.all]
                    entry.event("keep.created", keep=keep, cipher=keys.cipher, anchors=names)
        elif added := [one.name for one in anchors.all if one.name not in known]:
            ledger.adopt(anchors, added)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _has_begun(anchor: Anchor) -> bool:
    """Whether something is anchored there: a copy of the store from before that does not know of it."""
    head = anchor.read()
    return head is not None and head.seq > 0


def _known_anchors(backend: Backend, anchors: Anchors) -> set[str]:
    """The anchors this keep has had; one that is new in the settings is not missing yet."""
    names = {anchor.name for anchor in anchors.all}
    if names == {"keys"} or backend.last_event() is None:
        return names
    events = (event for event in backend.events() if event.kind in ("keep.created", ADOPTED))
    return {"keys"} | {name for event in events for name in json.loads(event.body).get("anchors", ())}


@contextmanager
def _founding(key_file: Path) -> Iterator[None]:
    """While nothing has happened yet, one of several processes that create the same keep goes first."""
    handle = disk.opened(key_file, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _keys(paths: Paths, keep: str, settings: Settings) -> KeepKeys:
    ring = keyring(paths, settings)
    if ring.exists(keep):
        return ring.open(keep)
    if database_path(paths, keep).exists():
        raise KeyUnavailable(
            f"There is a database for this keep but no key: {ring.path(keep)}",
            code="key_missing",
            hint="Restore the key directory, or point TRUEKEEP_KEYS at it.",
        )
    return ring.create(keep)


def require_store(paths: Paths, keep: str, settings: Settings) -> None:
    """Refuse a keep whose database is gone; one that is in a server's tables is looked for there."""
    if not settings.store:
        require_database(database_path(paths, keep))


def require_database(database: Path) -> None:
    """Once something has happened, a file that is gone or empty is a loss and not a fresh start."""
    restore = f"Restore {database}, from a backup with: truekeep restore."
    if not database.exists():
        raise StoreTampered(
            "The keep's database file is gone.", code="store_missing", hint=restore, where=database.name
        )
    if database.stat().st_size == 0:
        raise StoreCorrupt("The keep's database file is empty.", hint=restore)
