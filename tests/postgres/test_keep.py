"""A keep in a database does what a keep in a file does, through the library and the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.postgres.server import Database
from truekeep import Keep
from truekeep.cli import main
from truekeep.config import Paths, Settings
from truekeep.errors import KeyUnavailable, StoreTampered, UnknownId
from truekeep.ops.recovery import accept, back_up, destroy, restore
from truekeep.stores.files import keep_names
from truekeep.stores.rotation import rotate_data, rotate_master

Open = Callable[..., Keep]


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def settings(database: Database) -> Settings:
    return replace(Settings(), store=database.dsn, embedder="none")


@pytest.fixture
def open_keep(home: Path, settings: Settings) -> Open:
    return lambda name="alice": Keep.open(name, home=home, settings=settings, background=False)


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


def texts(keep: Keep) -> set[str]:
    return {memory["content"] for memory in keep.get_memories()}


def test_what_was_remembered_is_there_after_opening_again(home: Path, open_keep: Open) -> None:
    with open_keep() as keep:
        assert keep.remember("My sister Jana lives in Brno.", via="user").accepted
        assert keep.recall("Where does Jana live?")
    with open_keep() as keep:
        assert texts(keep) == {"My sister Jana lives in Brno."}
        assert keep.audit.verify().ok
    assert not list(home.rglob("*.db")), "nothing of the keep is in a file"


def test_two_processes_worth_of_keeps_write_by_turns(open_keep: Open) -> None:
    with open_keep() as one, open_keep() as other:
        for number in range(4):
            keep = (one, other)[number % 2]
            assert keep.remember(f"Box {number} holds cables.", via="user").accepted
        assert texts(one) == texts(other)
        assert len(texts(one)) == 4
        assert one.audit.verify().ok


def test_a_keep_is_backed_up_and_restored(home: Path, tmp_path: Path, open_keep: Open, settings: Settings) -> None:
    with open_keep() as keep:
        keep.remember("The key is under the mat.", via="user")
    back_up("alice", tmp_path / "copy", home=home, settings=settings)
    with open_keep() as keep:
        keep.remember("The key is in the shed.", via="user")
    done = restore("alice", tmp_path / "copy", by="petra", reason="a test", home=home, settings=settings)
    assert done.event
    with open_keep() as keep:
        assert texts(keep) == {"The key is under the mat."}
        assert keep.audit.verify().ok


def test_keys_are_rotated_while_another_process_serves(home: Path, open_keep: Open, settings: Settings) -> None:
    paths = Paths.resolve(home)
    with open_keep() as keep:
        keep.remember("The cat is called Mia.", via="user")
        rotate_master(paths, settings)
        assert texts(keep), "a new master key only wraps anew"
        rotate_data(paths, "alice", now, settings)
        with pytest.raises(KeyUnavailable) as caught:
            keep.get_memories()
        assert caught.value.code == "keys_rotated"
    with open_keep() as keep:
        assert texts(keep) == {"The cat is called Mia."}
        assert keep.remember("The dog is called Rex.", via="user").accepted
        assert keep.audit.verify().ok


def test_after_a_rotation_no_row_is_under_the_old_key(
    home: Path, open_keep: Open, settings: Settings, database: Database
) -> None:
    with open_keep() as keep:
        keep.remember("The cat is called Mia.", via="user")
    rotate_data(Paths.resolve(home), "alice", now, settings)
    boxes = database.run("SELECT body FROM truekeep.sealed UNION ALL SELECT body FROM truekeep.events")
    assert {bytes(box[1:3]) for (box,) in boxes} == {b"\x00\x01"}


def test_a_destroyed_keep_is_gone_and_its_key_with_it(
    home: Path, open_keep: Open, settings: Settings, database: Database
) -> None:
    with open_keep("bob") as other:
        other.remember("Bob likes tea.", via="user")
    with open_keep() as keep:
        keep.remember("The cat is called Mia.", via="user")
        destroy("alice", confirm="alice", home=home, settings=settings)
        with pytest.raises(KeyUnavailable):
            keep.get_memories()
    assert keep_names(Paths.resolve(home), settings) == ["bob"]
    assert database.run("SELECT count(DISTINCT keep) FROM truekeep.sealed") == [(1,)]
    with pytest.raises(UnknownId):
        destroy("alice", confirm="alice", home=home, settings=settings)
    with open_keep("bob") as other:
        assert texts(other) == {"Bob likes tea."}


def test_a_store_that_was_put_back_to_an_older_state_is_refused_with_what_is_missing(
    home: Path, open_keep: Open, settings: Settings, database: Database
) -> None:
    with open_keep() as keep:
        keep.remember("The cat is called Mia.", via="user")
        database.run(
            *(f"CREATE TABLE old_{table} AS TABLE truekeep.{table}" for table in ("sealed", "events", "keeps"))
        )
        for number in range(3):
            keep.remember(f"Box {number} holds cables.", via="user")
    database.run(
        *(f"TRUNCATE truekeep.{table}" for table in ("sealed", "events", "keeps")),
        *(f"INSERT INTO truekeep.{table} TABLE old_{table}" for table in ("sealed", "events", "keeps")),
    )
    with pytest.raises(StoreTampered, match="3 are missing") as caught:
        open_keep()
    assert caught.value.code == "store_rolled_back"
    assert accept("alice", by="petra", reason="the replica lagged", home=home, settings=settings).event
    with open_keep() as keep:
        assert texts(keep) == {"The cat is called Mia."}


def test_the_command_line_works_with_it(
    home: Path, database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRUEKEEP_STORE", database.dsn)
    monkeypatch.setenv("TRUEKEEP_HOME", str(home))
    assert run("remember", "My sister Jana lives in Brno.", "--keep", "alice") == 0
    for command in (["list"], ["recall", "Where does Jana live?"], ["audit", "verify"], ["snapshot"]):
        assert run(*command, "--keep", "alice") == 0, command
    assert run("doctor") == 0
    assert run("keys", "status") == 0
    assert "Jana" in capsys.readouterr().out
    assert run("list", "--keep", "alise") != 0
