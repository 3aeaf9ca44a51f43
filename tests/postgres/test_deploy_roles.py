"""The scripts of deploy/ that make roles and databases, on a real server: they make what the service needs, no more."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests.postgres.server import PROGRAMS, Server, running
from truekeep import Keep
from truekeep.config import Settings
from truekeep.stores.postgres_lines import forget_lines
from truekeep.stores.postgres_schema import migrate

pytestmark = pytest.mark.skipif(
    PROGRAMS is None or not (PROGRAMS / "psql").exists(), reason="PostgreSQL's psql is not installed here"
)
DEPLOY = Path(__file__).parents[2] / "deploy"
GIVEN = {
    "POSTGRES_USER": "owner",
    "TRUEKEEP_OWNER_PASSWORD": "o'wner",
    "TRUEKEEP_SERVICE_PASSWORD": 'ser"vice',
    "TRUEKEEP_ANCHOR_PASSWORD": "an\\chor",
}


@pytest.fixture(scope="module")
def deployed() -> Iterator[Server]:
    """A server on which both scripts ran, as an image runs them when its data directory is made."""
    with running() as server:
        for script in ("postgres-roles.sh", "anchor-roles.sh"):
            where = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "PGHOST": str(server.folder)}
            done = subprocess.run(
                ["sh", str(DEPLOY / script)], env={**GIVEN, **where}, capture_output=True, check=False, timeout=60
            )
            assert done.returncode == 0, done.stderr
        yield server


def test_the_roles_of_the_scripts_migrate_and_serve_with_an_anchor_apart(
    home: Path, deployed: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(deployed.dsn("keeps", "truekeep_owner"), autocommit=True) as connection:
        migrate(connection, "truekeep_service")
    monkeypatch.setenv("TRUEKEEP_ANCHOR_DSN", deployed.dsn("anchors", "truekeep_anchor"))
    dsn = deployed.dsn("keeps", "truekeep_service")
    settings = replace(Settings(), store=dsn, embedder="none", anchor="postgres:TRUEKEEP_ANCHOR_DSN")
    for number in range(2):
        with Keep.open("alice", home=home, settings=settings, background=False) as keep:
            assert keep.remember(f"Box {number} holds cables.", via="user").accepted
            assert keep.audit.verify().ok
    forget_lines(dsn)
    ((anchored,),) = deployed.run("SELECT count(*) FROM truekeep_anchors", database="anchors")
    assert anchored > 2


@pytest.mark.parametrize(
    ("role", "database", "attempt"),
    [
        ("truekeep_service", "keeps", "CREATE TABLE public.mine(a int)"),
        ("truekeep_service", "keeps", "CREATE SCHEMA mine"),
        ("truekeep_service", "keeps", "ALTER ROLE truekeep_service BYPASSRLS"),
        ("truekeep_service", "keeps", "CREATE DATABASE mine"),
        ("truekeep_anchor", "anchors", "DELETE FROM truekeep_anchors"),
        ("truekeep_anchor", "anchors", "UPDATE truekeep_anchors SET seq = 0"),
        ("truekeep_anchor", "anchors", "TRUNCATE truekeep_anchors"),
        ("truekeep_anchor", "anchors", "DROP TABLE truekeep_anchors"),
        ("truekeep_anchor", "keeps", "SELECT 1"),
    ],
)
def test_no_role_of_the_scripts_can_do_more_than_it_is_for(
    deployed: Server, role: str, database: str, attempt: str
) -> None:
    with (
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.OperationalError)) as caught,
        psycopg.connect(deployed.dsn(database, role), autocommit=True) as connection,
    ):
        connection.execute(attempt.encode())
    assert "denied" in str(caught.value) or "must be" in str(caught.value)


def test_every_role_has_a_password_and_none_is_kept_in_the_clear(deployed: Server) -> None:
    found = deployed.run("SELECT rolname FROM pg_authid WHERE rolpassword LIKE 'SCRAM-SHA-256%' ORDER BY 1")
    assert found == [("truekeep_anchor",), ("truekeep_owner",), ("truekeep_service",)]
