"""Edit a keep's file as an intruder does who has it and the key that encrypts it, but not those that seal its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truekeep.config import Paths
from truekeep.redteam.influence.target import Refused
from truekeep.stores.files import database_path
from truekeep.stores.keys import Keyring
from truekeep.stores.sqlite import connect


def edit_row(home: Path, keep: str, memory: str, changes: Mapping[str, Any]) -> None:
    """Change members of a memory's stored body; dots stand between the names of nested ones."""
    paths = Paths.resolve(home)
    keys = Keyring(paths.keys).open(keep)
    connection = connect(database_path(paths, keep), keys.file, keys.cipher)
    try:
        found = connection.execute("SELECT body FROM memories WHERE id = ?", (memory,)).fetchall()
        if not found:
            raise Refused("not_found")
        body = json.dumps(_changed(json.loads(str(found[0][0])), changes))
        connection.execute("UPDATE memories SET body = ? WHERE id = ?", (body, memory))
    finally:
        connection.close()


def _changed(body: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    for path, value in changes.items():
        *nested, last = path.split(".")
        place = body
        for name in nested:
            place = place.setdefault(name, {})
        place[last] = value
    return body
