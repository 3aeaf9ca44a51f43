"""Each bad day of ``truekeep db migrate`` and of whoever moves keeps has its own error too, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres.server import SERVICE, Database, Server
from tests.postgres.test_keep import run
from truekeep.cli.db import OWNER
from truekeep.stores.postgres_lines import forget_lines
from truekeep.stores.postgres_schema import MIGRATIONS

WRONG_SETTINGS, STORE_FAILED = 2, 3


def told(capfd: pytest.CaptureFixture[str], *command: str, code: int = STORE_FAILED) -> str:
    assert run(*command) == code
    return capfd.readouterr().err


@pytest.mark.parametrize(
    ("dsn", "said", "code"),
    [
        ("", "TRUEKEEP_STORE_OWNER is not set", WRONG_SETTINGS),
        ("mysql://somewhere", "no connection string", WRONG_SETTINGS),
        ("postgresql://owner:hunter2@127.0.0.1:1/keeps", "cannot be reached", STORE_FAILED),
    ],
)
def test_a_wrong_connection_string_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], dsn: str, said: str, code: int
) -> None:
    monkeypatch.setenv(OWNER, dsn)
    error = told(capfd, "db", "migrate", code=code)
    assert said in error
    assert "hunter2" not in error


def test_a_role_that_does_not_exist_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], database: Database
) -> None:
    monkeypatch.setenv(OWNER, database.owner)
    error = told(capfd, "db", "migrate", "--role", "nobody_here", code=WRONG_SETTINGS)
    assert "has no such role" in error
    assert "CREATE ROLE" in error


def test_whoever_does_not_own_the_tables_migrates_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], database: Database
) -> None:
    monkeypatch.setenv(OWNER, database.dsn)
    assert "lacks rights" in told(capfd, "db", "migrate")


def test_a_database_that_takes_no_writes_is_not_migrated(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], database: Database
) -> None:
    database.run(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
    monkeypatch.setenv(OWNER, database.owner)
    assert "target_session_attrs=read-write" in told(capfd, "db", "migrate", "--role", SERVICE)


def test_a_newer_schema_is_migrated_by_nobody(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], database: Database
) -> None:
    database.run(f"INSERT INTO truekeep.migrations(version) VALUES ({len(MIGRATIONS) + 1})")
    monkeypatch.setenv(OWNER, database.owner)
    assert "newer truekeep" in told(capfd, "db", "migrate")


def test_keeps_are_not_moved_to_a_database_that_takes_no_writes_and_stay_where_they_are(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], database: Database
) -> None:
    monkeypatch.setenv("TRUEKEEP_HOME", str(home))
    assert run("remember", "--keep", "alice", "The cat is called Mia.") == 0
    database.run(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
    forget_lines(database.dsn)
    monkeypatch.setenv("TRUEKEEP_STORE", database.dsn)
    assert "takes no writes" in told(capfd, "db", "move", "--to", "database", "--all")
    monkeypatch.delenv("TRUEKEEP_STORE")
    capfd.readouterr()
    assert run("list", "--keep", "alice") == 0
    assert "Mia" in capfd.readouterr().out


def test_a_server_that_is_away_is_told_by_whoever_asks_for_the_state(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], server: Server
) -> None:
    monkeypatch.setenv("TRUEKEEP_HOME", str(home))
    monkeypatch.setenv("TRUEKEEP_STORE", server.dsn("nothing_here", SERVICE))
    assert "cannot be reached" in told(capfd, "db", "status")
