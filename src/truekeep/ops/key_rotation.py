"""Rotating keys as a person decides it: done by the stores, with who decided and why in the audit log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from truekeep.config import Paths, Settings
from truekeep.stores.files import keyring, open_ledger
from truekeep.stores.rotation import MasterRotation, rotate_data, rotate_master
from truekeep.trust.candidate import checked_reason
from truekeep.trust.origin import keep_name, person_name
from truekeep.types import Progress

REWRAPPED = "keys.rewrapped"


def _now() -> datetime:
    return datetime.now(UTC)


def rotate_data_key(
    name: str,
    *,
    by: str,
    reason: str,
    home: str | Path | None = None,
    settings: Settings | None = None,
    clock: Callable[[], datetime] = _now,
    progress: Progress | None = None,
) -> int:
    """Encrypt and seal a keep with a new data key; nobody else may have it open. Returns the number of the event."""
    decided = {"by": person_name(by), "reason": checked_reason(reason)}
    paths = Paths.resolve(home)
    chosen = settings or Settings.load(paths.config)
    return rotate_data(paths, keep_name(name), clock, chosen, decided=decided, progress=progress)


def rotate_master_key(
    name: str,
    *,
    by: str,
    reason: str,
    to: str = "",
    home: str | Path | None = None,
    settings: Settings | None = None,
    clock: Callable[[], datetime] = _now,
    progress: Progress | None = None,
) -> MasterRotation:
    """Wrap every keep's key with a new master key; the log of the named keep, if there is one, says who decided it."""
    decided = {"by": person_name(by), "reason": checked_reason(reason)}
    paths = Paths.resolve(home)
    chosen = settings or Settings.load(paths.config)
    done = rotate_master(paths, chosen, to=to, progress=progress)
    # The settings may lead to the old key yet, where it lies outside: nothing is written then, as nothing opens.
    if keyring(paths, chosen).exists(keep_name(name)) and not to:
        with closing(open_ledger(paths, name, clock, chosen)) as ledger, ledger.writing() as entry:
            entry.event(REWRAPPED, **decided, master=done.master, rewrapped=len(done.rewrapped))
    return done
