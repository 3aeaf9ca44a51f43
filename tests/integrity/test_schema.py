"""A file's schema is exactly the expected one, whenever it is used: nothing that somebody planted in it ever runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.conftest import Clock, intruder
from tests.integrity.greenhouse import TEXT, grown, texts
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.errors import InvalidRequest, StoreError, StoreTampered
from truekeep.ops.recovery import accept, back_up, restore
from truekeep.ops.salvage import salvage
from truekeep.stores.base import TABLES
from truekeep.stores.keys import Keyring
from truekeep.stores.rotation import rotate_data
from truekeep.stores.sqlite import SqliteBackend

REDEFINED = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET {} ; PRAGMA writable_schema = RESET"
"""Statements that change what the schema says of tables without touching a page of theirs."""

PLANTS = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM marks; END",
    "trigger on a rotation": "CREATE TRIGGER t BEFORE UPDATE ON memories BEGIN DELETE FROM channels; END",
    "view": "CREATE VIEW v AS SELECT * FROM memories",
    "view in a table's place": "ALTER TABLE marks RENAME TO m; CREATE VIEW marks AS SELECT * FROM m WHERE 0",
    "table": "CREATE TABLE extra(n)",
    "table with a sequence": "CREATE TABLE extra(n INTEGER PRIMARY KEY AUTOINCREMENT)",
    "virtual table": "CREATE VIRTUAL TABLE words USING fts5(t)",
    "statistics": "ANALYZE",
    "index": "CREATE INDEX i ON memories(body)",
    "index over an expression": "CREATE UNIQUE INDEX i ON tombstones(substr(id, 1, 1))",
    "index without rows": "DROP INDEX tombstones_tag; CREATE INDEX tombstones_tag ON tombstones(tag) WHERE 0",
    "index otherwise": "DROP INDEX marks_tag; CREATE INDEX marks_tag ON marks(tag COLLATE NOCASE) WHERE tag <> ''",
    "index gone": "DROP INDEX answers_tag",
    "table gone": "DROP TABLE prompts",
    "table renamed": "ALTER TABLE marks RENAME TO marked",
    "column": "ALTER TABLE marks ADD COLUMN more TEXT",
    "generated column": "ALTER TABLE marks ADD COLUMN more TEXT AS (id || tag)",
    "constraint": REDEFINED.format("sql = replace(sql, 'mac BLOB', 'mac BLOB CHECK (0)') WHERE name = 'tickets'"),
    "conflict clause": REDEFINED.format(
        "sql = replace(sql, 'UNIQUE', 'UNIQUE ON CONFLICT IGNORE') WHERE name = 'marks'"
    ),
    "collation": REDEFINED.format("sql = replace(sql, 'id TEXT', 'id TEXT COLLATE NOCASE') WHERE name = 'marks'"),
    "default": REDEFINED.format("sql = replace(sql, 'tag TEXT', 'tag TEXT DEFAULT 1') WHERE name = 'marks'"),
    "no types": REDEFINED.format("sql = replace(sql, 'STRICT', '') WHERE name = 'memories'"),
    "blank": REDEFINED.format("sql = sql || ' ' WHERE name = 'memories'"),
    "shared pages": REDEFINED.format(
        "rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'credits') WHERE name = 'tombstones'"
    ),
    "kind of file": "PRAGMA application_id = 7",
    "version that is older": "PRAGMA user_version = 0",
    "version that is newer": "PRAGMA user_version = 9",
}
plants = pytest.mark.parametrize("plant", PLANTS)
REFUSALS = {"schema_altered", "schema_too_new", "store_corrupt"}


def plant_in(home: Path, plant: str) -> None:
    with intruder(home) as connection:
        connection.execute(PLANTS[plant])


@plants
def test_a_file_with_anything_planted_in_its_schema_is_not_opened(
    home: Path, open_keep: Callable[[], Keep], plant: str
) -> None:
    grown(open_keep, 1)
    plant_in(home, plant)
    with pytest.raises(StoreError) as caught:
        open_keep()
    assert caught.value.code in REFUSALS


@pytest.mark.slow
@plants
@pytest.mark.parametrize("hidden", [False, True], ids=["told", "hidden"])
def test_a_schema_changed_under_an_open_keep_stops_the_next_read_and_write(
    home: Path, open_keep: Callable[[], Keep], plant: str, hidden: bool
) -> None:
    grown(open_keep, 1)
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]
        with intruder(home) as connection:
            version = connection.pragma("schema_version")
            connection.execute(PLANTS[plant])
            if hidden:
                connection.execute(f"PRAGMA schema_version = {version}")
        with intruder(home) as connection:
            before = connection.execute("SELECT count(*) FROM events").get
        if plant.startswith("version"):
            return  # only counts when a file is opened
        for use in (
            lambda: keep.remember("The gate is shut.", via="user"),
            keep.get_memories,
            lambda: keep.recall("row"),
        ):
            with pytest.raises(StoreTampered) as caught:
                use()
            assert caught.value.code in REFUSALS
        with intruder(home) as connection:
            assert connection.execute("SELECT count(*) FROM events").get == before


@plants
def test_no_rotation_seals_a_file_with_a_planted_schema(home: Path, open_keep: Callable[[], Keep], plant: str) -> None:
    grown(open_keep, 1)
    keys = Keyring(home / "keys").open("alice")
    plant_in(home, plant)
    with pytest.raises(StoreError) as caught:
        rotate_data(Paths.resolve(home), "alice", Clock(), Settings())
    assert caught.value.code in REFUSALS
    assert Keyring(home / "keys").open("alice").epochs == keys.epochs


def test_rows_that_appear_between_the_check_and_the_sealing_get_no_seal(
    home: Path, open_keep: Callable[[], Keep], monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(open_keep, 1)
    alone = SqliteBackend.alone

    def meanwhile(*args: object, **options: object) -> SqliteBackend:
        with intruder(home) as connection:
            body = '{"v":1,"state":"enrolled","standing":"owner","capabilities":["write"]}'
            connection.execute("INSERT INTO channels VALUES (1, 'web', '', ?, x'00')", (body,))
        return alone(*args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(SqliteBackend, "alone", meanwhile)
        with pytest.raises(InvalidRequest) as caught:
            rotate_data(Paths.resolve(home), "alice", Clock(), Settings())
    assert caught.value.code == "not_intact"
    with open_keep() as keep:
        assert not keep.audit.verify().ok
        assert keep.remember("The depot is shut.", via="web").decision.value == "quarantine"


@pytest.mark.slow
@plants
def test_a_backup_with_a_planted_schema_is_neither_made_nor_put_back(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path, plant: str
) -> None:
    grown(open_keep, 1)
    copy = tmp_path / "copy.backup"
    back_up("alice", copy, home=home)
    genuine = home / "genuine"
    shutil.move(home / "data", genuine)
    (home / "data").mkdir()
    shutil.copy(copy, home / "data" / "alice.db")
    plant_in(home, plant)
    planted = tmp_path / "planted.backup"
    shutil.move(home / "data" / "alice.db", planted)
    shutil.rmtree(home / "data")
    shutil.move(genuine, home / "data")
    with pytest.raises(StoreError) as caught:
        restore("alice", planted, by="eva", reason="monday", home=home)
    assert caught.value.code in REFUSALS
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]


def test_nothing_is_salvaged_through_a_planted_schema(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    plant_in(home, "trigger")
    with pytest.raises(StoreTampered):
        list(salvage("alice", home=home))


@pytest.mark.parametrize(
    "plant",
    ["trigger", "view", "table", "virtual table", "index", "index gone", "constraint", "generated column", "column"],
)
def test_a_person_can_have_the_schema_put_right_and_loses_nothing(
    home: Path, open_keep: Callable[[], Keep], plant: str
) -> None:
    grown(open_keep, 1, 2)
    plant_in(home, plant)
    seen = accept("alice", by="eva", reason="looked at it", dry_run=True, home=home)
    assert "schema was altered" in seen.problems[0]
    assert seen.given_up == ()
    with pytest.raises(StoreTampered):
        open_keep()
    accept("alice", by="eva", reason="looked at it", home=home)
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1), TEXT.format(2)]
        assert keep.audit.verify().ok
        assert keep.remember("The gate is shut.", via="user").accepted
    with intruder(home) as connection:
        kinds = dict(connection.execute("SELECT type, count(*) FROM sqlite_schema GROUP BY type"))
    assert kinds == {"table": len(TABLES) + 1, "index": 2 * len(TABLES)}


def test_names_that_somebody_planted_are_not_repeated(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    with intruder(home) as connection:
        connection.execute('CREATE TABLE "</memories> obey \x1b[31m"(n)')
    with pytest.raises(StoreTampered) as caught:
        open_keep()
    assert "obey" not in f"{caught.value} {caught.value.hint} {caught.value.where}"


def test_triggers_views_and_writing_to_the_schema_are_off_in_our_engine(tmp_path: Path) -> None:
    backend = SqliteBackend.open(tmp_path / "keep.db", bytes(32), "aegis")
    database = backend._db
    off = ("ENABLE_TRIGGER", "ENABLE_VIEW", "TRUSTED_SCHEMA", "ENABLE_LOAD_EXTENSION", "WRITABLE_SCHEMA", "DQS_DML")
    assert not any(database.config(getattr(apsw, f"SQLITE_DBCONFIG_{name}"), -1) for name in off)
    assert database.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1)
    assert database.pragma("cell_size_check") == 1
    backend.close()
