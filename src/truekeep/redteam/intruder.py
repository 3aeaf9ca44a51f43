"""What someone can do who holds a keep's file and its encryption key, but not the keys that seal rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from truekeep.config import Paths
from truekeep.stores.files import database_path
from truekeep.stores.keys import Keyring
from truekeep.stores.sqlite import connect

if TYPE_CHECKING:
    import apsw


@contextmanager
def intruder(home: Path, name: str = "alice") -> Iterator[apsw.Connection]:
    """A connection to the file, behind the store's back."""
    paths = Paths.resolve(home)
    keys = Keyring(paths.keys).open(name)
    connection = connect(database_path(paths, name), keys.file, keys.cipher)
    try:
        yield connection
    finally:
        connection.close()
