"""The anchor in a database: a real PostgreSQL server of the test's own, on a socket in its folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

# The promises of every anchor hold for this one, too: pytest runs them here with the fixture below.
from tests.integrity.test_anchors import (
    head,
    opened,
    put,
    test_an_anchor_keeps_the_newest_head_with_its_time,  # noqa: F401
    test_an_anchor_never_moves_back,  # noqa: F401
    test_only_a_new_term_moves_an_anchor_back_and_it_lasts,  # noqa: F401
)
from tests.postgres.server import Server, running
from truekeep.errors import AnchorUnavailable, ConfigError, StoreTampered
from truekeep.stores.anchor import Anchor
from truekeep.stores.anchor_postgres import MAKE, PostgresAnchor
from truekeep.stores.anchors import anchors_of

KEY = bytes(range(32))
VARIABLE = "TRUEKEEP_TEST_ANCHOR"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


@pytest.fixture
def dsn(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    server.run("DROP TABLE IF EXISTS truekeep_anchors")
    monkeypatch.setenv(VARIABLE, server.dsn())
    return server.dsn()


@pytest.fixture
def anchor(dsn: str) -> Anchor:
    made = PostgresAnchor(dsn, KEY, f"postgres:{VARIABLE}", "alice")
    made.create()
    return made


def test_a_rollback_of_everything_else_is_noticed(home: Path, dsn: str) -> None:
    setting = f"keys,postgres:{VARIABLE}"
    ledger = opened(home, setting)
    put(ledger, "one")
    ledger.close()
    shutil.copytree(home, home.parent / "old")
    ledger = opened(home, setting)
    put(ledger, "two")
    assert [one.read() for one in ledger._verified.anchors.all] == [ledger.head] * 2
    ledger.close()
    shutil.rmtree(home)
    shutil.copytree(home.parent / "old", home)
    with pytest.raises(StoreTampered) as caught:
        opened(home, setting)
    assert caught.value.code == "store_rolled_back"


def test_rows_that_are_gone_altered_or_added_again_are_no_anchor(home: Path, server: Server, dsn: str) -> None:
    setting = f"keys,postgres:{VARIABLE}"
    ledger = opened(home, setting)
    put(ledger, "one")
    ledger.close()
    crowd = (
        "INSERT INTO truekeep_anchors SELECT anchor, 9, n, record FROM truekeep_anchors, generate_series(1, 99) n "
        "WHERE seq = 1"
    )
    for damage in ("UPDATE truekeep_anchors SET record = 'x'", "DELETE FROM truekeep_anchors", crowd):
        server.run("CREATE TABLE kept AS TABLE truekeep_anchors", damage)
        with pytest.raises(StoreTampered) as caught:
            opened(home, setting)
        assert caught.value.code == "anchor_missing"
        server.run("TRUNCATE truekeep_anchors", "INSERT INTO truekeep_anchors TABLE kept", "DROP TABLE kept")
    opened(home, setting).close()


def test_a_role_that_may_only_add_is_enough_and_cannot_take_back(home: Path, server: Server, dsn: str) -> None:
    server.run(MAKE, "DROP ROLE IF EXISTS keeper", "CREATE ROLE keeper LOGIN")
    server.run("GRANT SELECT, INSERT ON truekeep_anchors TO keeper")
    limited = PostgresAnchor(dsn.replace("owner", "keeper"), KEY, "postgres:X", "alice")
    limited.create()
    limited.advance(head(3))
    limited.remove()
    assert limited.read() is None, "the keep has taken its leave"
    assert limited.claimed() == 0
    limited.restart(head(3))
    assert limited.read() == head(3)
    server.run("REVOKE INSERT ON truekeep_anchors FROM keeper")
    with pytest.raises(AnchorUnavailable):
        limited.advance(head(4))
    server.run("REVOKE ALL ON truekeep_anchors FROM keeper")


def test_keeps_do_not_see_each_other_in_one_table(anchor: Anchor, dsn: str) -> None:
    anchor.advance(head(5))
    other = PostgresAnchor(dsn, bytes(32), "postgres:X", "bob")
    assert other.read() is None
    other.create()
    other.remove()
    assert anchor.read() == head(5)


def test_a_server_that_was_restarted_is_found_again_and_one_that_is_gone_refuses_writes(
    home: Path, server: Server, dsn: str
) -> None:
    ledger = opened(home, f"keys,postgres:{VARIABLE}")
    put(ledger, "one")
    server.stop()
    try:
        with pytest.raises(AnchorUnavailable) as caught:
            put(ledger, "two")
        assert server.dsn() not in str(caught.value)
        assert str(server.folder) not in f"{caught.value} {caught.value.hint}"
    finally:
        server.start()
    put(ledger, "three")
    assert [one.read() for one in ledger._verified.anchors.all] == [ledger.head] * 2
    ledger.close()


def test_the_connection_string_is_in_a_variable_and_nowhere_else(
    tmp_path: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made,) = anchors_of(f"postgres:{VARIABLE}", tmp_path, "alice", KEY).all
    assert made.name == f"postgres:{VARIABLE}"
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ConfigError):
        anchors_of(f"postgres:{VARIABLE}", tmp_path, "alice", KEY)
