"""Copies: a consistent, encrypted copy of a keep's database while it is in use, and putting one back in its place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep import disk
from truekeep.errors import InvalidRequest, StoreCorrupt, StoreReadOnly, StoreTampered
from truekeep.stores.acceptance import Acceptance, accept_copy, copy_tampered
from truekeep.stores.anchor import AnchorHead, Anchors
from truekeep.stores.anchors import anchors_of
from truekeep.stores.base import Backend, clear, failure, transfer
from truekeep.stores.files import database_files, database_path, keyring, known_heads, open_backend
from truekeep.stores.inspection import inspect_chain, inspect_rows, require_newest_keys
from truekeep.stores.keyfile import locked
from truekeep.stores.keys import KeepKeys, derive, with_restore_begun, with_rotation_done
from truekeep.stores.rotation import open_alone, settle
from truekeep.stores.seal import Seal
from truekeep.stores.sqlite import SqliteBackend, connect, leave_log, translated
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.config import Paths, Settings

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was verified after it was made."""

    path: Path
    size: int
    head: AnchorHead
    rows: int


def copy_out(paths: Paths, keep: str, target: Path, settings: Settings) -> Copy:
    """Copy a keep's database to a new file. Its keys open it, and nothing else does; writers are not held up."""
    keys = keyring(paths, settings).open(keep)
    if os.path.lexists(target):
        raise InvalidRequest("There is something at that path already.", code="file_exists")
    with _draft(target) as draft:
        if settings.store:
            with closing(open_backend(paths, keep, keys, settings)) as source:
                write_file(source, draft, keys)
        else:
            _copy(database_path(paths, keep), draft, keys)
        head, rows = verified_copy(draft, keys)
        try:
            os.link(draft, target, follow_symlinks=False)
        except FileExistsError:
            raise InvalidRequest("There is something at that path already.", code="file_exists") from None
        disk.sync_directory(target.parent)
        known_heads(paths, keep, keys).add(head)
        return Copy(target, target.stat().st_size, head, rows)


def verified_copy(path: Path, keys: KeepKeys) -> tuple[AnchorHead, int]:
    """Look at everything in a copy: it must be this keep's, and whole. Returns where it ends and its number of rows.

    It may be under old keys, and whoever has those can make one: whether it is a copy of *this* history is asked of
    the history (``_doubts``). Rows are held against the events one by one, whose hashes only that history has.
    """
    with closing(open_copy(path, keys)) as backend, backend.reading():
        # A file that ends before its last pages may still have every row, and then open nowhere but here.
        if not backend.is_whole():
            raise StoreCorrupt("The file is cut short, or it is damaged.", hint="Use another one.")
        return require_whole(backend, keys)


def open_copy(path: Path, keys: KeepKeys) -> SqliteBackend:
    """A copy of a keep, by whichever of the keep's data keys encrypts it."""
    for epoch in reversed(keys.epochs):
        try:
            return SqliteBackend.open(path, epoch.file, keys.cipher)
        except StoreCorrupt:
            continue
    raise StoreCorrupt("The file is no copy of this keep, or it is damaged.", hint="Use another one.")


def require_whole(backend: Backend, keys: KeepKeys) -> tuple[AnchorHead, int]:
    """Refuse a copy in which something is not as the keep wrote it. Returns where it ends and its number of rows."""
    tip = inspect_chain(backend, Seal(keys))
    found = inspect_rows(backend, tip, one_by_one=True)
    if found.lost or found.unverified or tip.head.seq == 0:
        raise copy_tampered()
    return tip.head, sum(map(len, found.expected.values()))


@contextmanager
def examined(paths: Paths, keep: str, source: Path, settings: Settings) -> Iterator[tuple[Backend, AnchorHead]]:
    """A backup opened to be looked at, and where it ends: verified, and of this keep's history."""
    ring = keyring(paths, settings)
    with locked(ring.directory):
        keys = derive(ring.secret(keep))
        with _draft(database_path(paths, keep)) as draft:
            _take_in(source, draft)
            head, _ = verified_copy(draft, keys)
            if doubts := _doubts(paths, keep, keys, head, settings):
                raise _unknown_history(doubts, head)
            with closing(open_copy(draft, keys)) as copy:
                yield copy, head


def put_back(
    paths: Paths,
    keep: str,
    source: Path,
    clock: Callable[[], datetime],
    settings: Settings,
    *,
    by: str,
    reason: str,
    unsafe_unknown_history: bool = False,
) -> Acceptance:
    """Put a copy in the place of a keep's database, because a person decided so. What was there is kept beside it.

    The copy must end at an event that has happened in this keep. ``unsafe_unknown_history`` takes any that verifies,
    and the decision says so. A crash leaves the old file or the new one. The new one is refused until the decision is
    written down, which running this again does.
    """
    ring = keyring(paths, settings)
    with locked(ring.directory):
        keys = derive(ring.secret(keep))
        with _draft(database_path(paths, keep)) as draft:
            _take_in(source, draft)
            head, _ = verified_copy(draft, keys)
            doubts = _doubts(paths, keep, keys, head, settings)
            if doubts and not unsafe_unknown_history:
                raise _unknown_history(doubts, head)
            disk.sync(draft)
            master = ring.masters.current()
            keys = derive(ring.rewrap(keep, master, with_restore_begun))
            if settings.store:
                _put_in(draft, open_backend(paths, keep, keys, settings), keys)
            else:
                _set_aside(paths, keep, keys, utc_text(clock()))
                draft.rename(database_path(paths, keep))
                disk.sync_directory(paths.data)
        anchors = anchors_of(settings.anchor, paths.keys, keep, keys.anchor)
        backend = open_alone(paths, keep, keys, settings)
        with closing(backend), closing(anchors):
            at = utc_text(clock())
            accepted = accept_copy(backend, Seal(keys), anchors, head, doubts, at=at, by=by, reason=reason)
        settle(paths, keep, keys, clock, settings)
        ring.rewrap(keep, master, with_rotation_done)
    return accepted


def _unknown_history(doubts: tuple[str, ...], head: AnchorHead) -> StoreTampered:
    return StoreTampered(
        " ".join(doubts),
        code="unknown_history",
        hint="Use another backup; or give up what is not in this one with --unsafe-unknown-history.",
        where=f"event {head.seq} of the copy",
    )


def _doubts(paths: Paths, keep: str, keys: KeepKeys, head: AnchorHead, settings: Settings) -> tuple[str, ...]:
    """What speaks against a copy that ends there: nothing, if that event has happened in this keep."""
    heads = known_heads(paths, keep, keys)
    anchors = anchors_of(settings.anchor, paths.keys, keep, keys.anchor)
    with closing(anchors):
        newest = anchors.newest()
        happened = newest.seq if newest else 0
        present = _present(paths, keep, keys, anchors, settings)
        if present is None and (head == newest or head in heads):
            return ()
        if present is not None and present.get(head.seq) == head.hash:
            heads.add(head)  # should this be cut off, what is there now is no longer asked
            return ()
    told = f"The copy ends at event {head.seq}, and that is no event of this keep's history; "
    if present is None:
        return (f"{told}of that only is known that event {happened} was the newest, and which backups were made.",)
    return (f"{told}events up to {happened} have happened, and those that the copy does not hold would be lost.",)


def _present(paths: Paths, keep: str, keys: KeepKeys, anchors: Anchors, settings: Settings) -> dict[int, bytes] | None:
    """The hashes of the present history, if it is there, whole and anchored."""
    if not settings.store and not database_path(paths, keep).is_file():
        return None
    try:
        with closing(open_backend(paths, keep, keys, settings, busy_seconds=5.0)) as backend, backend.reading():
            require_newest_keys(inspect_chain(backend, Seal(keys), anchors.heads()))
            return {event.seq: event.hash for event in backend.events()}
    except (StoreCorrupt, StoreTampered):
        return None


def _set_aside(paths: Paths, keep: str, keys: KeepKeys, at: str) -> None:
    """Take the present file away, unless another process has it open; one that cannot be opened is nobody's."""
    database = database_path(paths, keep)
    if database.exists():
        with suppress(StoreCorrupt, StoreTampered):
            SqliteBackend.alone(database, keys.file_keys, keys.cipher, busy_seconds=1.0).close()
    stamp = "".join(character for character in at if character.isalnum())
    for path in database_files(paths, keep):
        if os.path.lexists(path):  # a log that was left or planted must not become that of the copy
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
    disk.sync(target)


def write_file(source: Backend, target: Path, keys: KeepKeys) -> None:
    """Write a keep from another kind of store to a file of the embedded one."""
    with closing(SqliteBackend.open(target, keys.file, keys.cipher)) as backend:
        with source.reading(), backend.writing():
            transfer(source, backend)
        leave_log(backend)
    disk.sync(target)


def _put_in(source: Path, backend: Backend, keys: KeepKeys) -> None:
    """Let a file's content be that of a keep in a database, in one transaction."""
    with closing(open_copy(source, keys)) as copy, closing(backend), copy.reading(), backend.writing():
        clear(backend)
        transfer(copy, backend)


def _take_in(source: Path, draft: Path) -> None:
    """Copy a file that a person named, wherever it lies, into a draft of ours."""
    handle = disk.opened(draft, os.O_WRONLY)
    with source.open("rb") as file, os.fdopen(handle, "wb") as copy:
        shutil.copyfileobj(file, copy, _CHUNK)


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A file beside the one that is to be made; gone afterwards, unless it was renamed. What killed ones left goes."""
    try:
        disk.make_directory(path.parent)
        disk.tidy(path.parent)
        with disk.drafted(path) as draft:
            yield draft
    except OSError as error:
        raise failure(error.errno, f"A file cannot be written in {path.parent}.", StoreReadOnly) from error
