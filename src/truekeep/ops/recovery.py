"""Recovery: what a person does with a whole keep. Accept it as it is, back it up, put a backup back, destroy it.

None of this is reachable from a handle or a session; each decision names who took it and why, and is audited.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep import disk
from truekeep.config import Paths, Settings
from truekeep.errors import InvalidRequest, StoreReadOnly, UnknownId
from truekeep.stores.acceptance import Acceptance
from truekeep.stores.acceptance import accept as accept_store
from truekeep.stores.anchors import anchors_of
from truekeep.stores.copying import Copy, copy_out, put_back
from truekeep.stores.files import (
    database_files,
    database_keyring,
    keyring,
    open_backend,
    open_ledger,
    require_store,
    set_aside_files,
)
from truekeep.stores.keyfile import locked
from truekeep.stores.seal import Seal
from truekeep.trust.candidate import checked_reason
from truekeep.trust.origin import keep_name, person_name
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.stores.keys import Keyring

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


def accept(
    name: str,
    *,
    by: str,
    reason: str,
    dry_run: bool = False,
    home: str | Path | None = None,
    settings: Settings | None = None,
    clock: Clock = _now,
) -> Acceptance:
    """Decide that a keep counts as it is, though it is behind its anchor or rows are gone. ``dry_run`` only looks."""
    paths, chosen, ring = _existing(name, home, settings)
    who, why = person_name(by), checked_reason(reason)
    with locked(paths.keys):
        keys = ring.open(name)
        require_store(paths, name, chosen)
        anchors = anchors_of(chosen.anchor, paths.keys, name, keys.anchor)
        backend = open_backend(paths, name, keys, chosen, is_checked=False)
        with closing(backend), closing(anchors):
            return accept_store(backend, Seal(keys), anchors, at=utc_text(clock()), by=who, reason=why, dry_run=dry_run)


def back_up(
    name: str,
    target: str | Path,
    *,
    home: str | Path | None = None,
    settings: Settings | None = None,
    clock: Clock = _now,
) -> Copy:
    """Copy a keep to a new file while it is in use. The keep's keys open it; keep those somewhere else."""
    paths, chosen, _ = _existing(name, home, settings)
    with closing(open_ledger(paths, name, clock, chosen)) as ledger:
        copy = copy_out(paths, name, Path(target).expanduser().absolute(), chosen)
        with ledger.writing() as entry:
            entry.event("backup.made", ends_at=copy.head.seq, row_count=copy.rows, size=copy.size)
    return copy


def restore(
    name: str,
    source: str | Path,
    *,
    by: str,
    reason: str,
    home: str | Path | None = None,
    settings: Settings | None = None,
    clock: Clock = _now,
    unsafe_unknown_history: bool = False,
) -> Acceptance:
    """Put a backup in the place of a keep's database. What happened since the backup is given up; the log says so.

    Its last event must have happened in this keep: whoever has a data key from before a rotation can make a file that
    verifies. ``unsafe_unknown_history`` takes any such file; what is given up is in the answer and in the log.
    """
    paths, chosen, _ = _existing(name, home, settings)
    path = Path(source).expanduser()
    if not path.is_file():
        raise InvalidRequest("There is no such backup file.", code="no_backup")
    return put_back(
        paths,
        name,
        path,
        clock,
        chosen,
        by=person_name(by),
        reason=checked_reason(reason),
        unsafe_unknown_history=unsafe_unknown_history,
    )


def destroy(
    name: str,
    *,
    confirm: str,
    home: str | Path | None = None,
    paths: Paths | None = None,
    settings: Settings | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Shred a keep: its key first, which makes every copy of its data unreadable, then its files. For good.

    ``confirm`` must be the keep's name. Run again after a crash, it finishes what is left. Returns what was removed.
    ``dry_run`` only returns what would be, and needs no confirmation.
    """
    require_confirmed(keep_name(name), name if dry_run else confirm)
    paths = paths or Paths.resolve(home)
    chosen = settings or Settings.load(paths.config)
    ring = keyring(paths, chosen)
    anchors = anchors_of(chosen.anchor, paths.keys, name, bytes(32))
    data = [*database_files(paths, name), *set_aside_files(paths, name)]
    data.append(paths.keys / "keeps" / f"{name}.backups")
    doomed = [ring.path(name), *data]
    removed = [path.name for path in doomed if path.exists()]
    is_stored = bool(chosen.store) and ring.exists(name)
    if not removed and not is_stored and not anchors.claimed():
        raise UnknownId("There is no keep of that name.")
    if dry_run:
        return removed + (["the keep in the database"] if is_stored else [])
    try:
        with locked(paths.keys):
            if chosen.store:
                removed += database_keyring(paths, chosen).shred(name)
            _shred(ring.path(name))
            for anchor in anchors.all:
                anchor.remove()
            for path in data:
                path.unlink(missing_ok=True)
            if paths.data.is_dir():
                disk.tidy(paths.data, is_own=True)
    except OSError as error:
        raise StoreReadOnly("Something of the keep could not be removed.", hint=type(error).__name__) from error
    return removed


def require_confirmed(name: str, confirm: str) -> None:
    """Whoever destroys a keep has to name it once more."""
    if confirm != name:
        raise InvalidRequest(
            "Destroying a keep cannot be undone.", code="not_confirmed", hint="Pass confirm= with the keep's name."
        )


def _shred(path: Path) -> None:
    """Overwrite and remove a key file, through to the disk, before anything else happens."""
    if path.exists():
        with os.fdopen(disk.opened(path, os.O_RDWR), "r+b", buffering=0) as file:
            file.write(secrets.token_bytes(os.fstat(file.fileno()).st_size))
            os.fsync(file.fileno())
        path.unlink()
        disk.sync_directory(path.parent)


def _existing(name: str, home: str | Path | None, settings: Settings | None) -> tuple[Paths, Settings, Keyring]:
    paths = Paths.resolve(home)
    chosen = settings or Settings.load(paths.config)
    ring = keyring(paths, chosen)
    if not ring.exists(keep_name(name)):
        raise UnknownId("There is no keep of that name.", hint=f"Looked for its key in {paths.keys}.")
    return paths, chosen, ring
