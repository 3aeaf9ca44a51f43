"""A real standby: it answers and takes no writes, its dump says nothing, and one that lags is refused as a primary."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.postgres.server import PROGRAMS, SERVICE, Database, Server
from tests.postgres.test_keep import texts
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import StoreReadOnly, StoreTampered
from truekeep.ops.recovery import accept
from truekeep.stores.postgres_lines import forget_lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAMS is None or not (PROGRAMS / "pg_basebackup").exists(),
        reason="PostgreSQL's server with pg_basebackup is not installed here",
    ),
]
SAID = "The cat is called Marigold."


@pytest.fixture
def standby(database: Database) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="tk-sb-") as folder:
        Path(folder).chmod(0o711)
        made = Server(Path(folder), copy_of=database.server)
        yield made
        forget_lines(made.dsn(database.name, SERVICE))
        made.stop()


def opened(home: Path, dsn: str) -> Keep:
    return Keep.open("alice", home=home, settings=settings_for(dsn), background=False)


def settings_for(dsn: str) -> Settings:
    return replace(Settings(), store=dsn, embedder="none")


def follow(database: Database, standby: Server) -> None:
    """Until the standby has everything that the primary has."""
    ((wanted,),) = database.run("SELECT pg_current_wal_lsn()")
    for _ in range(2_000):
        if standby.run(f"SELECT pg_last_wal_replay_lsn() >= '{wanted}'") == [(True,)]:
            return
    raise AssertionError("it does not follow")


def test_a_standby_answers_takes_no_writes_and_its_dump_says_nothing(
    home: Path, database: Database, standby: Server
) -> None:
    with opened(home, database.dsn) as keep:
        assert keep.remember(SAID, via="user").accepted
    follow(database, standby)
    with opened(home, standby.dsn(database.name, SERVICE)) as keep:
        assert texts(keep) == {SAID}
        assert keep.recall("What is the cat called?")
        with pytest.raises(StoreReadOnly) as caught:
            keep.remember("The dog is called Rex.", via="user")
        assert caught.value.code == "store_on_replica"
        with pytest.raises(StoreReadOnly) as caught:
            Keep.open("bob", home=home, settings=settings_for(standby.dsn(database.name, SERVICE)), background=False)
    assert caught.value.code == "store_on_replica", "it makes no keep either"
    assert PROGRAMS is not None
    dump = [str(PROGRAMS / "pg_dump"), "--inserts", standby.dsn(database.name)]
    found = subprocess.run(dump, capture_output=True, check=True, timeout=60).stdout
    assert b"INSERT INTO truekeep.sealed" in found
    for said in (b"Marigold", b"Marigold".hex().encode(), b"mem_", b"mem_".hex().encode()):
        assert said not in found


def test_a_standby_that_lags_is_refused_once_it_is_the_primary_until_a_person_accepts_it(
    home: Path, database: Database, standby: Server
) -> None:
    with opened(home, database.dsn) as keep:
        keep.remember(SAID, via="user")
        follow(database, standby)
        standby.stop("fast")  # what comes now does not reach it
        for number in range(3):
            assert keep.remember(f"Box {number} holds cables.", via="user").accepted
    (standby.folder / "data" / "standby.signal").unlink()
    standby.start()
    there = standby.dsn(database.name, SERVICE)
    for _ in range(2):
        with pytest.raises(StoreTampered, match="3 are missing") as caught:
            opened(home, there)
        assert caught.value.code == "store_rolled_back"
    accept("alice", by="petra", reason="the old primary burned", home=home, settings=settings_for(there))
    with opened(home, there) as keep:
        assert texts(keep) == {SAID}
        assert keep.remember("The dog is called Rex.", via="user").accepted
