"""A database that was put back is refused until a person decides, also one from before the keep was there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.postgres.server import Database, Server
from tests.postgres.test_keep import texts
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import StoreTampered, UnknownId
from truekeep.ops.recovery import accept, destroy

VARIABLE = "TRUEKEEP_TEST_OTHER_DATABASE"
TABLES = ("sealed", "events", "keeps")


@pytest.fixture(params=["keys", f"postgres:{VARIABLE}"])
def settings(
    request: pytest.FixtureRequest, database: Database, server: Server, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """The anchor in the key directory, and in another database."""
    name = f"anchors_of_{database.name}"
    server.run(f"CREATE DATABASE {name}")
    monkeypatch.setenv(VARIABLE, server.dsn(name))
    return replace(Settings(), store=database.dsn, embedder="none", anchor=request.param)


def opened(home: Path, settings: Settings) -> Keep:
    return Keep.open("alice", home=home, settings=settings, background=False)


def put_back(database: Database, prefix: str) -> None:
    database.run(
        *(f"TRUNCATE truekeep.{table}" for table in TABLES),
        *(f"INSERT INTO truekeep.{table} TABLE {prefix}_{table}" for table in TABLES),
    )


def set_aside(database: Database, prefix: str) -> None:
    database.run(*(f"CREATE TABLE {prefix}_{table} AS TABLE truekeep.{table}" for table in TABLES))


def test_a_database_from_before_the_keep_does_not_pass_for_a_new_one(
    home: Path, database: Database, settings: Settings
) -> None:
    set_aside(database, "empty")
    with opened(home, settings) as keep:
        keep.remember("The cat is called Mia.", via="user")
        events = keep.audit.head
    set_aside(database, "full")
    put_back(database, "empty")
    for _ in range(2):
        with pytest.raises(StoreTampered, match=f"{events} are missing") as caught:
            opened(home, settings)
        assert caught.value.code == "store_rolled_back"
    assert database.run("SELECT count(*) FROM truekeep.keeps") == [(0,)], "nothing was made in its place"
    put_back(database, "full")
    with opened(home, settings) as keep:
        assert texts(keep) == {"The cat is called Mia."}


def test_a_keep_that_was_destroyed_may_be_made_anew_and_its_old_rows_do_not_come_back(
    home: Path, database: Database, settings: Settings
) -> None:
    with opened(home, settings) as keep:
        keep.remember("The cat is called Mia.", via="user")
    set_aside(database, "old")
    destroy("alice", confirm="alice", home=home, settings=settings)
    with opened(home, settings) as keep:
        assert not texts(keep)
        keep.remember("The dog is called Rex.", via="user")
    put_back(database, "old")
    with pytest.raises(StoreTampered):
        opened(home, settings)
    assert accept("alice", by="petra", reason="the old one shall count", home=home, settings=settings).event
    with opened(home, settings) as keep:
        assert texts(keep) == {"The cat is called Mia."}


def test_a_keep_whose_rows_are_gone_is_given_up_by_destroying_it(
    home: Path, database: Database, settings: Settings
) -> None:
    with opened(home, settings) as keep:
        keep.remember("The cat is called Mia.", via="user")
    database.run(*(f"TRUNCATE truekeep.{table}" for table in TABLES))
    destroy("alice", confirm="alice", home=home, settings=settings)
    with pytest.raises(UnknownId):
        destroy("alice", confirm="alice", home=home, settings=settings)
    with opened(home, settings) as keep:
        assert keep.remember("The dog is called Rex.", via="user").accepted
