"""Migrations run while others write, and give up rather than hold them up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests.postgres.server import Database
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import StoreBusy
from truekeep.stores import postgres_schema
from truekeep.stores.postgres_lines import translated
from truekeep.stores.postgres_schema import migrate, version

NEXT = (
    "ALTER TABLE truekeep.sealed ADD COLUMN later integer NOT NULL DEFAULT 0",
    "CREATE INDEX later ON truekeep.events (keep, hash)",
    "ALTER TABLE truekeep.keeps ADD COLUMN later text",
)
"""What a later version may want: columns on every partition, an index, a column beside the keys."""


def settings_for(database: Database) -> Settings:
    return replace(Settings(), store=database.dsn, embedder="none")


def test_whoever_writes_goes_on_while_the_tables_are_migrated(
    home: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrated, begun = threading.Event(), threading.Barrier(4, timeout=60)

    def live(name: str) -> int:
        """Write until the migrations are through, and a little longer."""
        with Keep.open(name, home=home, settings=settings_for(database), background=False) as keep:
            written, left = 0, 3
            while left:
                left -= migrated.is_set()
                assert keep.remember(f"Shelf {written} holds cables.", via="user").accepted
                written += 1
                if written == 1:
                    begun.wait()
            assert len(keep.get_memories(limit=1_000)) == written
            assert keep.audit.verify().ok
            return written

    with ThreadPoolExecutor(3) as threads:
        lives = [threads.submit(live, name) for name in ("alice", "bob", "carol")]
        begun.wait()
        try:
            monkeypatch.setattr(postgres_schema, "MIGRATIONS", (*postgres_schema.MIGRATIONS, *NEXT))
            with psycopg.connect(database.owner, autocommit=True) as connection:
                before, after = migrate(connection)
        finally:
            migrated.set()
        assert after == before + len(NEXT)
        assert all(one.result(60) > 3 for one in lives)


def test_a_migration_that_would_have_to_wait_gives_up_and_changes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(postgres_schema.MIGRATIONS)
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", (*postgres_schema.MIGRATIONS, *NEXT))
    monkeypatch.setattr(postgres_schema, "LOCK_PATIENCE", 50)
    with (
        psycopg.connect(database.owner) as busy,
        psycopg.connect(database.owner, autocommit=True) as connection,
    ):
        busy.execute(b"LOCK TABLE truekeep.sealed IN ROW EXCLUSIVE MODE")
        with pytest.raises(StoreBusy), translated():
            migrate(connection)
        assert version(connection) == before
        busy.rollback()
        assert migrate(connection) == (before, before + len(NEXT))


def test_only_one_process_migrates(database: Database) -> None:
    with (
        psycopg.connect(database.owner) as first,
        psycopg.connect(database.owner, autocommit=True) as second,
    ):
        postgres_schema._lock(first)
        with pytest.raises(StoreBusy) as caught:
            migrate(second)
        assert caught.value.code == "migrating"
