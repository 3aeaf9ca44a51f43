"""The shelf: where the books of a home are, in its key directory or in the database that its settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truekeep.config import Paths, Settings
    from truekeep.stores.book import Shelf
    from truekeep.stores.postgres_service import SharedState


def shelf_of(paths: Paths, settings: Settings) -> Shelf:
    """Where the books of that home are."""
    return shared_state(paths, settings) or paths.keys


def shared_state(paths: Paths, settings: Settings) -> SharedState | None:
    """What the processes of a service share in a database, if there is one."""
    if not settings.store:
        return None
    from truekeep.stores.files import database_keyring  # noqa: PLC0415 - loads the cryptography

    database_keyring(paths, settings)  # refuses a setting that names no database, and a driver that is not installed
    from truekeep.stores.postgres_service import SharedState  # noqa: PLC0415 - an extra

    return SharedState(paths, settings)
