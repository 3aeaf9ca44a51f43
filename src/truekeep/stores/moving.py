"""Moving keeps between files and a database: copied, verified against the chain and the anchors, then taken away.

What seals a row and wraps a key is bound to the keep and not to where it lies, so both are copied as they are. A keep
arrives in one transaction, or as one file that is renamed when it is complete; what it came from goes after that. Cut
off in between, both are there and end at the same event, and running it again takes the old one away.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from truekeep import disk
from truekeep.errors import ConfigError, InvalidRequest, StoreBusy, UnknownId
from truekeep.stores.anchors import anchors_of
from truekeep.stores.base import Backend, transfer
from truekeep.stores.copying import require_whole, write_file
from truekeep.stores.files import database_files, database_keyring, database_path, keyring, open_backend
from truekeep.stores.inspection import inspect_chain, newest_here, require_newest_keys
from truekeep.stores.keyfile import locked
from truekeep.stores.rotation import open_alone
from truekeep.stores.seal import Seal

if TYPE_CHECKING:
    from truekeep.config import Paths, Settings
    from truekeep.stores.keys import KeepKeys, Keyring

PLACES = ("database", "files")


@dataclass(frozen=True, slots=True)
class Moved:
    """A keep that is somewhere else now."""

    keep: str
    to: str
    events: int
    rows: int


def movable(paths: Paths, settings: Settings, to: str) -> list[str]:
    """The keeps that are not where they shall be."""
    source, _ = _sides(paths, settings, to)
    return source.names()


def move(paths: Paths, settings: Settings, keep: str, to: str) -> Moved:
    """Move a keep to the ``database`` or to ``files``. It must be open nowhere; run again, it finishes."""
    source, target = _sides(paths, settings, to)
    if not source.exists(keep):
        raise UnknownId("There is no keep of that name to be moved.", hint=f"Looked in {_other(to)}.")
    with locked(paths.keys):
        keys = source.open(keep)
        if keys.pending:
            raise InvalidRequest(
                "A rotation or restore of this keep was cut off.",
                code="rotation_pending",
                hint=f"Finish it with: truekeep keys rotate --data --keep {keep}",
            )
        if to == "database":
            return _into_database(paths, settings, keep, keys, source)
        return _into_files(paths, settings, keep, keys, target)


def _sides(paths: Paths, settings: Settings, to: str) -> tuple[Keyring, Keyring]:
    if to not in PLACES:
        raise InvalidRequest("A keep is moved to the database or to files.", code="unknown_place")
    if not settings.store:
        raise ConfigError("The setting store names no database.", hint="Set TRUEKEEP_STORE to its connection string.")
    there, here = database_keyring(paths, settings), keyring(paths, replace(settings, store=""))
    return (here, there) if to == "database" else (there, here)


def _other(to: str) -> str:
    return PLACES[1 - PLACES.index(to)]


def _into_database(paths: Paths, settings: Settings, keep: str, keys: KeepKeys, source: Keyring) -> Moved:
    ring = database_keyring(paths, settings)
    if not ring.exists(keep):
        ring.write_new(keep, source.entry(keep), source.secret(keep))
    _require_same(ring.open(keep), keys)
    with closing(open_backend(paths, keep, keys, settings)) as new:
        if database_path(paths, keep).exists():
            with closing(open_alone(paths, keep, keys, replace(settings, store=""))) as old:
                if new.last_event() is None:
                    with old.reading(), new.writing():
                        transfer(old, new)
                moved = _verified(paths, settings, keep, keys, old, new, "database")
        else:  # cut off while the files were taken away: everything was verified before the first one went
            moved = _verified(paths, settings, keep, keys, new, new, "database")
    for path in (*database_files(paths, keep), source.path(keep)):
        path.unlink(missing_ok=True)  # the key last: while it is there, this can be run again
    disk.sync_directory(paths.data)
    return moved


def _into_files(paths: Paths, settings: Settings, keep: str, keys: KeepKeys, target: Keyring) -> Moved:
    ring, place = database_keyring(paths, settings), database_path(paths, keep)
    with closing(open_backend(paths, keep, keys, settings)) as old:
        if not place.exists():
            disk.make_directory(place.parent)
            with disk.drafted(place) as draft:
                write_file(old, draft, keys)
                disk.sync(draft)
                draft.rename(place)
            disk.sync_directory(place.parent)
        if not target.exists(keep):
            target.write_new(keep, ring.entry(keep), ring.secret(keep))
        _require_same(target.open(keep), keys)
        with closing(open_alone(paths, keep, keys, replace(settings, store=""))) as new:
            moved = _verified(paths, settings, keep, keys, old, new, "files")
    ring.shred(keep)
    return moved


def _verified(
    paths: Paths, settings: Settings, keep: str, keys: KeepKeys, old: Backend, new: Backend, to: str
) -> Moved:
    """Look at everything in the new place, which must be what is in the old one and reach every anchor."""
    anchors = anchors_of(settings.anchor, paths.keys, keep, keys.anchor)
    with closing(anchors), new.reading(), old.reading():
        require_newest_keys(inspect_chain(new, Seal(keys), anchors.heads()))
        head, rows = require_whole(new, keys)
        if newest_here(old) != head:
            raise StoreBusy(
                "The keep was written to while it was moved, or is in both places.",
                code="keep_in_both",
                hint="Stop whoever has it open. If they differ still, destroy the one that shall not count.",
            )
    return Moved(keep, to, head.seq, rows)


def _require_same(there: KeepKeys, here: KeepKeys) -> None:
    if there != here:
        raise InvalidRequest(
            "There is another keep of that name in the new place.",
            code="keep_exists",
            hint="Destroy that one first, if it shall not count.",
        )
