"""Copies: a consistent, encrypted copy of a keep's database while it is in use, and putting one back in its place."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from truekeep.config import Paths, Settings
from truekeep.errors import InvalidRequest, StoreCorrupt, StoreReadOnly, StoreTampered
from truekeep.stores.acceptance import Acceptance, accept
from truekeep.stores.anchor import Anchors, Head
from truekeep.stores.anchors import anchors_of
from truekeep.stores.failures import failure
from truekeep.stores.files import database_files, database_path, keyring
from truekeep.stores.inspection import inspect_chain, inspect_rows
from truekeep.stores.keyfile import locked, sync_directory
from truekeep.stores.keys import KeepKeys, derive, with_restore_begun, with_rotation_done
from truekeep.stores.rotation import settle
from truekeep.stores.seal import Seal
from truekeep.stores.sqlite import SqliteBackend, connect, translated
from truekeep.types import utc_text


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was verified after it was made."""

    path: Path
    size: int
    head: Head
    rows: int


def copy_out(paths: Paths, keep: str, target: Path, settings: Settings) -> Copy:
    """Copy a keep's database to a new file. Its keys open it, and nothing else does; writers are not held up."""
    keys = keyring(paths, settings).open(keep)
    if target.exists():
        raise InvalidRequest("There is something at that path already.", code="file_exists")
    with _draft(target) as draft:
        _copy(database_path(paths, keep), draft, keys)
        head, rows = verified_copy(draft, keys)
        try:
            os.link(draft, target)
        except FileExistsError:
            raise InvalidRequest("There is something at that path already.", code="file_exists") from None
        sync_directory(target.parent)
        return Copy(target, target.stat().st_size, head, rows)


def verified_copy(path: Path, keys: KeepKeys) -> tuple[Head, int]:
    """Look at everything in a copy: it must be this keep's, and whole. Returns where it ends and its number of rows."""
    for epoch in reversed(keys.epochs):
        try:
            backend = SqliteBackend.open(path, epoch.file, keys.cipher)
        except StoreCorrupt:
            continue
        with closing(backend), backend.reading():
            tip = inspect_chain(backend, Seal(keys), Anchors(()))
            found = inspect_rows(backend, tip)
            if found.lost or found.unverified or tip.head.seq == 0:
                raise StoreTampered(
                    "The copy is not as this keep wrote it.", code="copy_tampered", hint="Use another one."
                )
            return tip.head, sum(map(len, found.expected.values()))
    raise StoreCorrupt("The file is no copy of this keep, or it is damaged.", hint="Use another one.")


def put_back(
    paths: Paths, keep: str, source: Path, clock: Callable[[], datetime], settings: Settings, *, by: str, reason: str
) -> Acceptance:
    """Put a copy in the place of a keep's database, because a person decided so. What was there is kept beside it.

    A crash leaves the old file or the new one. The new one is refused until the decision is written down, which
    running this again does.
    """
    ring = keyring(paths, settings)
    with locked(ring.directory):
        keys = derive(ring.secret(keep))
        with _draft(database_path(paths, keep)) as draft:
            draft.write_bytes(source.read_bytes())
            verified_copy(draft, keys)
            _sync(draft)
            master = ring.masters.current()
            keys = derive(ring.rewrap(keep, master, with_restore_begun))
            _set_aside(paths, keep, keys, utc_text(clock()))
            draft.rename(database_path(paths, keep))
            sync_directory(paths.data)
        accepted = _accepted(paths, keep, keys, clock, settings, by=by, reason=reason)
        settle(paths, keep, keys, clock, settings)
        ring.rewrap(keep, master, with_rotation_done)
    return accepted


def _accepted(
    paths: Paths, keep: str, keys: KeepKeys, clock: Callable[[], datetime], settings: Settings, *, by: str, reason: str
) -> Acceptance:
    anchors = anchors_of(settings.anchor, paths.keys, keep, keys.anchor)
    backend = SqliteBackend.alone(database_path(paths, keep), keys.file_keys, keys.cipher, busy_seconds=5.0)
    with closing(backend), closing(anchors):
        return accept(backend, Seal(keys), anchors, at=utc_text(clock()), by=by, reason=reason, even_if_sound=True)


def _set_aside(paths: Paths, keep: str, keys: KeepKeys, at: str) -> None:
    """Take the present file away, unless another process has it open; one that cannot be opened is nobody's."""
    database = database_path(paths, keep)
    if not database.exists():
        return
    with suppress(StoreCorrupt):
        SqliteBackend.alone(database, keys.file_keys, keys.cipher, busy_seconds=1.0).close()
    stamp = "".join(character for character in at if character.isalnum())
    for path in database_files(paths, keep):
        if path.exists():
            path.rename(path.with_name(f"{path.name}.replaced-{stamp}"))


def _copy(source: Path, target: Path, keys: KeepKeys) -> None:
    with translated():
        reading = connect(source, keys.file, keys.cipher)
        try:
            writing = connect(target, keys.file, keys.cipher)
            try:
                writing.pragma("journal_mode", "delete")
                with writing.backup("main", reading, "main") as copying:
                    copying.step(-1)
                writing.pragma("journal_mode", "delete")
            finally:
                writing.close()
        finally:
            reading.close()
    target.chmod(0o600)
    _sync(target)


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A file beside the one that is to be made; gone afterwards, unless it was renamed."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.touch(mode=0o600, exist_ok=False)
        yield draft
    except OSError as error:
        raise failure(error.errno, f"A file cannot be written in {path.parent}.", StoreReadOnly) from error
    finally:
        for left in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-shm", "-journal"))):
            left.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
