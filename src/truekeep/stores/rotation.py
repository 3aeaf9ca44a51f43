"""Rotation: new master keys and new data keys, so that a crash at any point leaves everything openable.

A new master key only rewraps; keeps stay open meanwhile. A new data key encrypts the file and seals every row anew, for
which the keep must be open nowhere else. The key file has both keys while that is under way, and whatever was reached
is recognised: the file by the key that opens it, the seals by the chain, in which the rotation is an event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from truekeep.errors import InvalidRequest, UnknownId
from truekeep.stores.anchor import AnchorHead
from truekeep.stores.anchors import anchors_of
from truekeep.stores.base import TABLES, Backend, EventRow
from truekeep.stores.chain import ROTATED, Tip, Touched
from truekeep.stores.files import database_path, keyring, open_backend, open_ledger
from truekeep.stores.inspection import inspect_chain, inspect_rows
from truekeep.stores.keyfile import locked
from truekeep.stores.keys import KeepKeys, derive, with_new_data_key, with_rotation_done
from truekeep.stores.master import MasterKeys, Wrapping
from truekeep.stores.seal import Seal
from truekeep.stores.sqlite import SqliteBackend
from truekeep.types import Progress, utc_text

if TYPE_CHECKING:
    from truekeep.config import Paths, Settings

NOBODY: Mapping[str, str] = MappingProxyType({})
"""Where nobody decides anew: a rotation that was begun is brought to its end."""
OWN = "keys"
"""The master key that truekeep makes itself and keeps in the key directory."""


@dataclass(frozen=True, slots=True)
class MasterRotation:
    """What a rotation of the master key did."""

    master: str
    """The fingerprint of the key that wraps from now on."""
    rewrapped: tuple[str, ...]


def rotate_master(
    paths: Paths, settings: Settings, *, to: str = "", progress: Progress | None = None
) -> MasterRotation:
    """Wrap every keep's key with a new master key: a fresh one of our own (``keys``), or the one ``to`` leads to.

    Cut off in the middle, some keys are wrapped by the old one and some by the new; running it again finishes it.
    """
    ring = keyring(paths, settings)
    if not to and not ring.masters.is_own:
        raise InvalidRequest(
            "The master key is not truekeep's own.",
            code="foreign_master",
            hint="Say where the new one is: env:NAME, file:PATH, command:LINE, plugin:MODULE:NAME, or keys (our own).",
        )
    with locked(ring.directory):
        target = MasterKeys(paths.keys, "" if to == OWN else to)
        master: Wrapping = target.add() if target.is_own else target.current()
        rewrapped, names = [], ring.names()
        for number, keep in enumerate(names, 1):
            if ring.wrapped_by(keep) != master.id:
                ring.rewrap(keep, master)
                rewrapped.append(keep)
            if progress is not None:
                progress(number, len(names))
        if settings.store:
            from truekeep.stores.postgres_service import rewrap_shared  # noqa: PLC0415 - an extra

            rewrap_shared(paths, settings, master)
        if target.is_own:
            target.drop_all_but_current()
    return MasterRotation(master.id, tuple(rewrapped))


def rotate_data(
    paths: Paths,
    keep: str,
    clock: Callable[[], datetime],
    settings: Settings,
    *,
    decided: Mapping[str, str] = NOBODY,
    progress: Progress | None = None,
) -> int:
    """Give a keep a new data key: its file is encrypted and its rows are sealed with it. Returns the event's number.

    The event says who decided it, as ``decided`` has it.
    """
    ring = keyring(paths, settings)
    if not ring.exists(keep):
        raise UnknownId("There is no keep of that name.", hint=f"Looked for its key in {paths.keys}.")
    with locked(ring.directory):
        with closing(open_ledger(paths, keep, clock, settings)) as ledger:
            if not ledger.verify().ok:
                raise _not_intact()
        master = ring.masters.current()
        keys = derive(ring.rewrap(keep, master, with_new_data_key))
        event = settle(paths, keep, keys, clock, settings, decided=decided, progress=progress)
        ring.rewrap(keep, master, with_rotation_done)
    return event


def settle(
    paths: Paths,
    keep: str,
    keys: KeepKeys,
    clock: Callable[[], datetime],
    settings: Settings,
    *,
    decided: Mapping[str, str] = NOBODY,
    progress: Progress | None = None,
) -> int:
    """Bring the file's encryption and the rows' seals to the newest data key, from wherever they are."""
    backend = open_alone(paths, keep, keys, settings)
    anchors = anchors_of(settings.anchor, paths.keys, keep, keys.anchor)
    with closing(backend), closing(anchors):
        with backend.writing():
            tip = inspect_chain(backend, Seal(keys), anchors.heads())
            while tip.seal.has_successor:
                # Under the same lock as the sealing, before it and after it: what the old keys did not seal, and the
                # chain did not leave there, must not get a seal from us.
                _require_intact(backend, tip)
                tip = _resealed(backend, tip, utc_text(clock()), decided, progress)
                _require_intact(backend, tip)
                if settings.store:
                    # A file is encrypted anew as a whole; here every event is, by being written once more.
                    for event in list(backend.events()):
                        backend.restate(event)
        anchors.advance(tip.head)
    return tip.head.seq


def open_alone(paths: Paths, keep: str, keys: KeepKeys, settings: Settings) -> Backend:
    """The keep with nobody else in it. In a database the lock of the transaction does that, and others may go on."""
    busy_seconds = min(settings.busy_seconds, 5.0)
    if settings.store:
        return open_backend(paths, keep, keys, settings, busy_seconds=busy_seconds)
    return SqliteBackend.alone(database_path(paths, keep), keys.file_keys, keys.cipher, busy_seconds=busy_seconds)


def _require_intact(backend: Backend, tip: Tip) -> None:
    found = inspect_rows(backend, tip)
    if found.lost or found.unverified:
        raise _not_intact()


def _not_intact() -> InvalidRequest:
    return InvalidRequest(
        "The keys of a keep in which something was altered are not rotated.",
        code="not_intact",
        hint="See 'truekeep audit verify', and delete or accept what it names first.",
    )


def _resealed(backend: Backend, tip: Tip, at: str, decided: Mapping[str, str], progress: Progress | None) -> Tip:
    """Seal every row under the next keys, and close the chain of the old ones with the event that says so."""
    seal, seq, at = tip.seal.successor(), tip.head.seq + 1, max(at, tip.head.at)
    total, touched = 0, list[Touched]()
    rows = sum(map(backend.count, TABLES))
    for table in TABLES:
        for row in list(backend.rows(table, cards=True)):
            sealed = row._replace(mac=seal.mac(table, row))
            backend.replace(table, sealed)
            total += seal.term(sealed.mac)
            touched.append((table, row.seq, sealed.mac.hex()))
            if progress is not None:
                progress(len(touched), rows)
    draft = EventRow(seq, at, ROTATED, json.dumps({**decided, "rows": touched}), seal.mask(total, seq), b"")
    event = draft._replace(hash=tip.seal.link(tip.head.hash, draft))
    backend.append(event)
    return replace(tip, seal=seal, head=AnchorHead(seq, event.hash, at), total=total)
