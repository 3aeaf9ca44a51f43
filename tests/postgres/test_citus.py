"""The conformance suite on a Citus cluster that somebody provides, with the tables distributed by keep.

``TRUEKEEP_TEST_CITUS`` is the connection string of the owner of a database without a schema ``truekeep``: that is made,
and taken away again in the end. The role ``service`` is made as well, and has to be let in without a password.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.postgres.server import SERVICE
from truekeep.stores.base import Backend, Row
from truekeep.stores.conformance import BackendConformance
from truekeep.stores.postgres import PostgresBackend, place_of
from truekeep.stores.postgres_keys import DatabaseKeyring
from truekeep.stores.postgres_lines import forget_lines
from truekeep.stores.postgres_schema import migrate

OWNER = os.environ.get("TRUEKEEP_TEST_CITUS", "")
pytestmark = pytest.mark.skipif(not OWNER, reason="TRUEKEEP_TEST_CITUS names no Citus cluster")


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    given = conninfo_to_dict(OWNER)
    with psycopg.connect(OWNER, autocommit=True) as connection:
        there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'truekeep'").fetchall()
        assert not there, "this database is in use"
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (SERVICE,)).fetchall():
            connection.execute(f"CREATE ROLE {SERVICE} LOGIN NOSUPERUSER NOBYPASSRLS".encode())
        connection.execute(f"ALTER ROLE {SERVICE} SET citus.propagate_set_commands = 'local'".encode())
        migrate(connection, SERVICE)
        try:
            for table, beside in (("keeps", "none"), ("sealed", "truekeep.keeps"), ("events", "truekeep.keeps")):
                distribute = "SELECT create_distributed_table(%s::regclass, 'keep', colocate_with => %s)"
                connection.execute(distribute, (f"truekeep.{table}", beside))
            dsn = f"postgresql://{SERVICE}@/{given.get('dbname', '')}?host={given.get('host', '')}"
            yield f"{dsn}&port={given.get('port', 5432)}"
        finally:
            connection.execute(b"DROP SCHEMA truekeep CASCADE")


def opened(dsn: str, place: Path, name: str) -> PostgresBackend:
    ring = DatabaseKeyring(dsn, place / "keys")
    return PostgresBackend(dsn, name, ring.open(name) if ring.exists(name) else ring.create(name))


class TestCitus(BackendConformance):
    scrubs = False
    dsn: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _dsn(self, service: str) -> Iterator[None]:
        type(self).dsn = service
        yield
        forget_lines(service)

    def open(self, place: Path) -> Backend:
        return opened(self.dsn, place, place.name)


def test_the_workers_know_which_keep_a_transaction_is_about(service: str, tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        backend = opened(service, tmp_path, name)
        with backend.writing():
            backend.insert("memories", Row(1, "mem_1", "", f"of {name}", bytes(32)))
        assert [row.body for row in backend.rows("memories")] == [f"of {name}"]
    with psycopg.connect(service, autocommit=True) as connection:
        assert connection.execute("SELECT * FROM truekeep.sealed").fetchall() == []
        with connection.transaction():
            connection.execute(f"SET LOCAL truekeep.keep = '{place_of('alice')}'".encode())
            found = connection.execute("SELECT DISTINCT keep FROM truekeep.sealed").fetchall()
            assert found == [(place_of("alice"),)]
    forget_lines(service)
