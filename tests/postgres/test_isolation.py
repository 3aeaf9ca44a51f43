"""No keep reads or becomes another: not by name, by a row copied with SQL, by a dump, or with row security off."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import psycopg
import pytest

from tests.postgres.server import PROGRAMS, SERVICE, Database
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import StoreTampered, TruekeepError
from truekeep.stores.base import TABLES
from truekeep.stores.postgres import PostgresBackend, place_of
from truekeep.stores.postgres_keys import DatabaseKeyring

NAMES = ("alice", "bob", "carol")
COLUMNS = "tbl, seq, id, body, mac, card"


def secret(name: str) -> str:
    return f"The safe of {name} opens with {name}-4711."


def opened(home: Path, database: Database, name: str) -> Keep:
    settings = replace(Settings(), store=database.dsn, embedder="none")
    return Keep.open(name, home=home, settings=settings, background=False)


@pytest.fixture
def filled(home: Path, database: Database) -> Database:
    for name in NAMES:
        with opened(home, database, name) as keep:
            assert keep.remember(secret(name), via="user").accepted
            keep.remember(f"{name} likes tea.", via="user")
    return database


def test_no_keep_finds_anothers_rows_whichever_setting_the_transaction_has(filled: Database) -> None:
    with psycopg.connect(filled.dsn, autocommit=True) as connection:
        for table in ("sealed", "events", "sealed_00", "events_00"):
            try:
                assert connection.execute(f"SELECT * FROM truekeep.{table}".encode()).fetchall() == []
            except psycopg.errors.InsufficientPrivilege:
                continue
        for name in NAMES:
            with connection.transaction():
                connection.execute(f"SET LOCAL truekeep.keep = '{place_of(name)}'".encode())
                for table in ("sealed", "events"):
                    found = connection.execute(f"SELECT DISTINCT keep FROM truekeep.{table}".encode()).fetchall()
                    assert found == [(place_of(name),)]


@pytest.mark.parametrize("table", ["sealed", "events", "keeps"])
def test_no_keep_changes_another(filled: Database, table: str) -> None:
    before = filled.run(f"SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM truekeep.{table} t")
    with psycopg.connect(filled.dsn, autocommit=True) as connection:
        for name, other in permutations(NAMES, 2):
            place = place_of(other)
            for attempt in (
                f"DELETE FROM truekeep.{table} WHERE keep = '{place}'",
                f"UPDATE truekeep.{table} SET keep = '{place_of(name)}' WHERE keep = '{place}'",
            ):
                with connection.transaction():
                    connection.execute(f"SET LOCAL truekeep.keep = '{place_of(name)}'".encode())
                    assert connection.execute(attempt.encode()).rowcount == 0
            with pytest.raises(psycopg.Error), connection.transaction():
                connection.execute(f"SET LOCAL truekeep.keep = '{place_of(name)}'".encode())
                connection.execute(f"UPDATE truekeep.{table} SET keep = '{place}'".encode())
    assert filled.run(f"SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM truekeep.{table} t") == before


def test_rows_copied_between_keeps_with_sql_stay_unreadable(home: Path, filled: Database) -> None:
    for name, other in permutations(NAMES, 2):
        mine, theirs = place_of(name), place_of(other)
        filled.run(
            f"INSERT INTO truekeep.sealed(keep, {COLUMNS}) SELECT '{mine}', tbl, seq + 1000, id, body, mac, card "
            f"FROM truekeep.sealed WHERE keep = '{theirs}' AND seq < 1000 AND NOT EXISTS "
            f"(SELECT FROM truekeep.sealed m WHERE m.keep = '{mine}' AND m.tbl = sealed.tbl AND m.id = sealed.id)"
            " ON CONFLICT DO NOTHING"
        )
        with opened(home, filled, name) as keep:
            assert not keep.audit.verify().ok
            shown = str(keep.get_memories()) + str(keep.recall("Which number opens the safe?"))
            assert f"{other}-4711" not in shown
            assert secret(name) in shown
        filled.run("DELETE FROM truekeep.sealed WHERE seq >= 1000")


def test_a_row_put_in_the_place_of_another_keeps_row_is_no_row(home: Path, filled: Database) -> None:
    filled.run(
        "UPDATE truekeep.sealed a SET body = b.body, mac = b.mac, card = b.card FROM truekeep.sealed b "
        f"WHERE a.keep = '{place_of('alice')}' AND b.keep = '{place_of('bob')}' AND a.tbl = b.tbl AND a.seq = b.seq "
        f"AND a.tbl = {TABLES.index('memories')}"
    )
    with opened(home, filled, "alice") as keep:
        shown = keep.get_memories()
        assert all(memory["blocked"] for memory in shown)
        assert "4711" not in str(shown)


def test_a_whole_keep_under_anothers_place_is_refused(home: Path, filled: Database) -> None:
    mine, theirs = place_of("alice"), place_of("bob")
    filled.run(
        f"DELETE FROM truekeep.sealed WHERE keep = '{mine}'",
        f"DELETE FROM truekeep.events WHERE keep = '{mine}'",
        f"UPDATE truekeep.sealed SET keep = '{mine}' WHERE keep = '{theirs}'",
        f"UPDATE truekeep.events SET keep = '{mine}' WHERE keep = '{theirs}'",
    )
    with pytest.raises(StoreTampered):
        opened(home, filled, "alice")
    filled.run(
        f"UPDATE truekeep.keeps a SET key = b.key FROM truekeep.keeps b WHERE a.keep = '{mine}' AND b.keep = '{theirs}'"
    )
    with pytest.raises(TruekeepError) as caught:
        opened(home, filled, "alice")
    assert caught.value.code == "wrong_key", "a wrapped key is bound to the keep's name"


def test_row_security_off_by_mistake_shows_nobody_anything(home: Path, filled: Database) -> None:
    """The process that serves already has looked; its statements and the boxes hold without the server's help."""
    keeps = {name: opened(home, filled, name) for name in NAMES}
    for table in ("sealed", "events", "keeps"):
        filled.run(f"ALTER TABLE truekeep.{table} DISABLE ROW LEVEL SECURITY")
    for name, keep in keeps.items():
        shown = str(keep.get_memories())
        assert secret(name) in shown
        assert not any(secret(other) in shown for other in NAMES if other != name)
        keep.close()
    ring = DatabaseKeyring(filled.dsn, home / "keys")
    backend = PostgresBackend(filled.dsn, "alice", ring.open("alice"))
    backend._keep = place_of("bob")  # as if a statement had named the wrong keep
    assert {row.mac for row in backend.rows("memories")} == {b""}, "rows are there, and none opens"


def test_a_dump_holds_nothing_that_was_said(filled: Database) -> None:
    assert PROGRAMS is not None
    dump = subprocess.run(
        [str(PROGRAMS / "pg_dump"), "--inserts", filled.owner], capture_output=True, check=True, timeout=60
    ).stdout
    assert b"INSERT INTO" in dump
    for said in (b"likes tea", b"likes tea".hex().encode(), b"mem_", b"mem_".hex().encode()):
        assert said not in dump
    assert SERVICE.encode() in dump, "it is the whole dump, with the rights in it"
