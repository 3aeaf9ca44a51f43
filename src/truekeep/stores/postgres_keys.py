"""Wrapped keys in the database: the same entries that key files hold, one in each keep's own row.

The master key that opens them never is in the database. Deleting the row's key shreds the keep.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truekeep.errors import KeyUnavailable
from truekeep.stores.keyfile import VERSION
from truekeep.stores.keys import Keyring, Secret
from truekeep.stores.postgres import place_of
from truekeep.stores.postgres_lines import Connection, Lines, lines_to, translated
from truekeep.stores.postgres_schema import KEEP_SETTING, SCHEMA

_PATIENCE = 30.0
_TABLES = ("sealed", "events", "keeps")


class DatabaseKeyring(Keyring):
    """The keys of the keeps in one database."""

    def __init__(self, dsn: str, directory: Path, master_key: str = "") -> None:
        super().__init__(directory, master_key)
        self._lines: Lines = lines_to(dsn)

    def facts(self) -> dict[str, str]:
        """Which server and schema this is."""
        self._ask("SELECT 1")
        return dict(self._lines.facts)

    def takes_writes(self) -> bool:
        """Whether the server answers and is no replica, and the database is not closed to writing."""
        return self._ask("SELECT current_setting('transaction_read_only')") == [("off",)]

    def names(self) -> list[str]:
        """The keeps that are in the database."""
        return sorted(str(name) for (name,) in self._ask(f"SELECT name FROM {SCHEMA}.keeps"))  # noqa: S608

    def exists(self, keep: str) -> bool:
        """Whether there is a keep of that name in the database."""
        return bool(self._ask(f"SELECT 1 FROM {SCHEMA}.keeps WHERE keep = %s", place_of(keep)))  # noqa: S608

    def entry(self, keep: str) -> dict[str, Any]:
        """The wrapped key as it is stored."""
        found = self._ask(f"SELECT key FROM {SCHEMA}.keeps WHERE keep = %s", place_of(keep))  # noqa: S608
        if not found:
            raise KeyUnavailable("There is no key of that keep in the database.", code="key_missing")
        try:
            entry = json.loads(found[0][0])
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or entry.get("truekeep") != "keep-key" or entry.get("version") != VERSION:
            raise KeyUnavailable("The keep's key in the database is not of this version.")
        return entry

    def write_new(self, keep: str, entry: Mapping[str, Any], secret: Secret) -> None:
        """Store a new keep's key; when another process was first, its key stands."""
        with self.changing(keep) as line:
            add_keep(line, keep, entry, len(secret.data))

    def replace(self, keep: str, entry: Mapping[str, Any], secret: Secret) -> None:
        """Store a keep's key anew."""
        with self.changing(keep) as line:
            line.execute(
                f"UPDATE {SCHEMA}.keeps SET key = %s, data_keys = %s WHERE keep = %s".encode(),  # noqa: S608
                (json.dumps(dict(entry)), len(secret.data), place_of(keep)),
            )

    def shred(self, keep: str) -> list[str]:
        """Delete a keep's key and everything it opened, in one transaction; says what was there."""
        with self.changing(keep) as line:
            return [
                f"{done.rowcount} rows of {table}"
                for table in reversed(_TABLES)
                if (done := line.execute(f"DELETE FROM {SCHEMA}.{table} WHERE keep = %s".encode(), (place_of(keep),)))  # noqa: S608
                and done.rowcount
            ]

    @contextmanager
    def changing(self, keep: str) -> Iterator[Connection]:
        """A transaction on one keep."""
        line = self._lines.take(_PATIENCE)
        try:
            with translated(), line.transaction():
                line.execute(f"SET LOCAL {KEEP_SETTING} = '{place_of(keep)}'; SET LOCAL lock_timeout = 30000".encode())
                yield line
        finally:
            self._lines.give_back(line)

    def _ask(self, statement: str, *given: Any) -> list[tuple[Any, ...]]:
        """Ask what may be seen of all keeps, again on a fresh connection if an idle one has died."""
        return self._asked(statement, given) if self._lines.facts else self._asked(statement, given, again=False)

    def _asked(self, statement: str, given: tuple[Any, ...], *, again: bool = True) -> list[tuple[Any, ...]]:
        line = self._lines.take(_PATIENCE)
        try:
            with translated():
                return line.execute(statement.encode(), given).fetchall()
        except Exception:
            if not (again and line.closed):
                raise
            self._lines.drop_idle()
        finally:
            self._lines.give_back(line)
        return self._asked(statement, given, again=False)


def add_keep(line: Connection, keep: str, entry: Mapping[str, Any], data_keys: int) -> bool:
    """Add a keep's row, inside a transaction on it; says whether there was none."""
    add = f"INSERT INTO {SCHEMA}.keeps(keep, name, key, data_keys) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"  # noqa: S608
    done = line.execute(add.encode(), (place_of(keep), keep, json.dumps(dict(entry)), data_keys))
    return done.rowcount == 1
