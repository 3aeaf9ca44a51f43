"""PostgreSQL keeps the backend's promises; what is in it opens nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from tests.postgres.server import Database
from truekeep.stores.base import Backend, Row
from truekeep.stores.conformance import BackendConformance
from truekeep.stores.keys import KeepKeys
from truekeep.stores.postgres import PostgresBackend
from truekeep.stores.postgres_keys import DatabaseKeyring


def keys_of(database: Database, place: Path, name: str) -> KeepKeys:
    ring = DatabaseKeyring(database.dsn, place / "keys")
    return ring.open(name) if ring.exists(name) else ring.create(name)


def opened(database: Database, place: Path, name: str = "alice") -> PostgresBackend:
    return PostgresBackend(database.dsn, name, keys_of(database, place, name))


class TestPostgres(BackendConformance):
    scrubs = False
    database: ClassVar[Database]

    @pytest.fixture(autouse=True)
    def _database(self, shared: Database) -> None:
        type(self).database = shared

    def open(self, place: Path) -> Backend:
        return opened(self.database, place, place.name)


def test_nothing_readable_is_in_the_tables(shared: Database, tmp_path: Path) -> None:
    backend = opened(shared, tmp_path, "readable")
    with backend.writing():
        backend.insert("memories", Row(1, "mem_secret", "tag-secret", "a very secret body", bytes(32), b"card-secret"))
    found = shared.run("SELECT id, body, mac, card FROM truekeep.sealed")
    stored = b"".join(part for row in found for part in row if part)
    assert stored
    assert b"secret" not in stored
