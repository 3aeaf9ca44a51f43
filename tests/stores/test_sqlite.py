"""SQLite keeps the backend's promises, and its file's problems become clear errors."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from truekeep.errors import StoreBusy, StoreCorrupt, StoreFull, StoreReadOnly
from truekeep.stores.base import Backend, Row
from truekeep.stores.conformance import BackendConformance
from truekeep.stores.sqlite import SqliteBackend, connect
from truekeep.stores.sqlite_schema import MIGRATIONS, migrate

KEY = bytes(range(32))
CIPHERS = ("aegis", "chacha20")


class TestAegis(BackendConformance):
    def open(self, place: Path) -> Backend:
        return SqliteBackend.open(place / "keep.db", KEY, "aegis")


class TestChaCha20(BackendConformance):
    def open(self, place: Path) -> Backend:
        return SqliteBackend.open(place / "keep.db", KEY, "chacha20")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keep.db"


def written(path: Path, cipher: str = "aegis") -> None:
    backend = SqliteBackend.open(path, KEY, cipher)
    with backend.writing():
        backend.insert("memories", Row(1, "mem_1", "", "a very recognisable secret", bytes(32)))
    backend.close()


@pytest.mark.parametrize("cipher", CIPHERS)
def test_nothing_readable_is_on_disk(path: Path, cipher: str) -> None:
    written(path, cipher)
    for file in path.parent.iterdir():
        content = file.read_bytes()
        assert b"recognisable" not in content
        assert b"CREATE TABLE" not in content


def test_the_file_is_private_durable_and_in_wal_mode(path: Path) -> None:
    backend = SqliteBackend.open(path, KEY, "aegis")
    assert backend.describe()["journal"] == "wal"
    assert backend._db.pragma("synchronous") == 2
    assert path.stat().st_mode & 0o077 == 0
    backend.close()


def test_another_key_does_not_open_it(path: Path) -> None:
    written(path)
    with pytest.raises(StoreCorrupt) as caught:
        SqliteBackend.open(path, bytes(32), "aegis")
    assert caught.value.hint


def test_a_foreign_file_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"this is somebody's shopping list\n" * 500)
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt):
        SqliteBackend.open(path, KEY, "aegis")
    assert path.read_bytes() == before


def test_a_truncated_file_is_refused(path: Path) -> None:
    written(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 - 100])
    with pytest.raises(StoreCorrupt):
        backend = SqliteBackend.open(path, KEY, "aegis")
        list(backend.rows("memories"))
        backend.close()


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreReadOnly):
        SqliteBackend.open(tmp_path / "file" / "keep.db", KEY, "aegis")


def test_a_full_disk_rolls_back_and_says_so(path: Path) -> None:
    backend = SqliteBackend.open(path, KEY, "aegis")
    pages = int(backend._db.pragma("page_count"))
    backend._db.pragma("max_page_count", pages + 2)
    with pytest.raises(StoreFull), backend.writing():
        for seq in range(1, 200):
            backend.insert("memories", Row(seq, f"mem_{seq}", "", "x" * 3000, bytes(32)))
    assert backend.count("memories") == 0
    backend.close()


def test_a_read_only_file_is_a_clear_error(unprivileged: Path) -> None:
    path = unprivileged / "keep.db"
    written(path)
    path.chmod(0o400)
    with pytest.raises(StoreReadOnly):
        SqliteBackend.open(path, KEY, "aegis")
    assert path.stat().st_size > 0


def test_a_read_only_directory_is_a_clear_error(unprivileged: Path) -> None:
    unprivileged.chmod(0o500)
    with pytest.raises(StoreReadOnly):
        SqliteBackend.open(unprivileged / "keep.db", KEY, "aegis")
    unprivileged.chmod(0o700)


def test_migrations_run_once_each_in_order(path: Path) -> None:
    connection = connect(path, KEY, "aegis")
    migrate(connection)
    grown = (*MIGRATIONS, "CREATE TABLE extra(n INTEGER) STRICT;", "INSERT INTO extra VALUES (1);")
    migrate(connection, grown)
    migrate(connection, grown)
    assert connection.execute("SELECT n FROM extra").fetchall() == [(1,)]
    assert connection.pragma("user_version") == len(grown)
    connection.close()


def test_a_failed_migration_leaves_the_old_schema(path: Path) -> None:
    connection = connect(path, KEY, "aegis")
    migrate(connection)
    with pytest.raises(apsw.SQLError):
        migrate(connection, (*MIGRATIONS, "CREATE TABLE half(n); SELECT nonsense FROM nowhere;"))
    assert connection.pragma("user_version") == len(MIGRATIONS)
    assert not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchall()
    connection.close()


def test_a_file_from_a_newer_truekeep_is_refused(path: Path) -> None:
    connection = connect(path, KEY, "aegis")
    migrate(connection)
    connection.pragma("user_version", len(MIGRATIONS) + 1)
    connection.close()
    with pytest.raises(StoreCorrupt) as caught:
        SqliteBackend.open(path, KEY, "aegis")
    assert caught.value.code == "schema_too_new"


def test_opening_waits_for_whoever_has_the_file_for_himself(path: Path) -> None:
    written(path)
    alone = SqliteBackend.alone(path, [KEY], "aegis", busy_seconds=1.0)
    with pytest.raises(StoreBusy):
        SqliteBackend.open(path, KEY, "aegis", busy_seconds=0.1)
    letting_go = threading.Timer(0.2, alone.close)
    letting_go.start()
    backend = SqliteBackend.open(path, KEY, "aegis", busy_seconds=30.0)
    letting_go.join()
    assert [row.id for row in backend.rows("memories")] == ["mem_1"]
    backend.close()
