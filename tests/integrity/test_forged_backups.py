"""A backup made by somebody who has a data key from before a rotation is not put back, however well it verifies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import Clock
from tests.integrity.greenhouse import TEXT, grown, texts
from truekeep import Keep
from truekeep.cli import cli
from truekeep.config import Paths, Settings
from truekeep.errors import StoreTampered, TruekeepError
from truekeep.ops.recovery import accept, back_up, restore
from truekeep.ops.salvage import salvage
from truekeep.stores.base import Row
from truekeep.stores.entry import Entry
from truekeep.stores.inspection import inspect_chain, replayed
from truekeep.stores.keys import KeepKeys, Keyring
from truekeep.stores.rotation import rotate_data
from truekeep.stores.seal import Seal
from truekeep.stores.sqlite import SqliteBackend

PLANT = "My account is 6666-66."


@pytest.fixture
def old(home: Path, open_keep: Callable[[], Keep], tmp_path: Path) -> KeepKeys:
    """What the attacker has: every key that comes from the first data key, and a backup of that time."""
    grown(open_keep, 1, 2)
    keys = Keyring(home / "keys").open("alice")
    back_up("alice", tmp_path / "old", home=home)
    grown(open_keep, 3)
    rotate_data(Paths.resolve(home), "alice", Clock(), Settings())
    grown(open_keep, 4)
    return keys


@contextmanager
def forging(path: Path, keys: KeepKeys) -> Iterator[tuple[SqliteBackend, Entry]]:
    """A transaction in a copy, by somebody who has the keys of its time."""
    with closing(SqliteBackend.open(path, keys.file, keys.cipher)) as backend, backend.writing():
        tip = inspect_chain(backend, Seal(keys))
        yield backend, Entry(backend, tip, replayed(backend, tip), "2026-03-01T12:00:00.000000Z")


def plant(path: Path, keys: KeepKeys) -> None:
    """Let the owner have said something."""
    with forging(path, keys) as (backend, entry):
        genuine = next(iter(backend.rows("memories")))
        body = json.loads(genuine.body) | {"text": PLANT}
        entry.put("memories", "mem_00000000000000000000", body, genuine.tag)
        entry.event("memory.stored", memory="mem_00000000000000000000")


def refused(home: Path, path: Path) -> StoreTampered:
    with pytest.raises(StoreTampered) as caught:
        restore("alice", path, by="eva", reason="monday", home=home)
    return caught.value


def test_a_copy_that_goes_on_from_an_old_backup_is_not_put_back(
    home: Path, old: KeepKeys, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    plant(tmp_path / "old", old)
    error = refused(home, tmp_path / "old")
    assert error.code == "unknown_history"
    assert "no event of this keep's history" in str(error)
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(number) for number in (1, 2, 3, 4)]


def test_a_history_made_from_nothing_is_not_put_back(home: Path, old: KeepKeys, tmp_path: Path) -> None:
    with forging(tmp_path / "made", old) as (_, entry):
        for number in range(1, 12):
            entry.event("keep.created", keep="alice", number=number)
    assert refused(home, tmp_path / "made").code == "unknown_history"


@pytest.mark.parametrize("rotations", [0, 2])
def test_an_old_backup_whose_rows_were_exchanged_is_not_put_back(
    home: Path, old: KeepKeys, tmp_path: Path, rotations: int
) -> None:
    """Its head is genuine. The sum over the rows can be made to match by whoever has the old key; the events cannot."""
    for _ in range(rotations):
        rotate_data(Paths.resolve(home), "alice", Clock(), Settings())
    with closing(SqliteBackend.open(tmp_path / "old", old.file, old.cipher)) as backend, backend.writing():
        row = next(iter(backend.rows("memories", cards=True)))
        forged = row._replace(body=row.body.replace("row 1", "row 9"), card=None)
        backend.replace("memories", forged._replace(mac=Seal(old).mac("memories", forged)))
    assert refused(home, tmp_path / "old").code == "copy_tampered"


def test_a_matching_sum_alone_vouches_for_no_row_of_a_copy(
    home: Path, old: KeepKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteBackend.open(tmp_path / "old", old.file, old.cipher)) as backend, backend.writing():
        seal, row = Seal(old), next(iter(backend.rows("memories", cards=True)))
        forged = row._replace(body=row.body.replace("row 1", "row 9"), card=None)
        forged = forged._replace(mac=seal.mac("memories", forged))
        backend.replace("memories", forged)
    real, wanted = Seal.term, seal.term(row.mac)
    monkeypatch.setattr(Seal, "term", lambda self, mac: wanted if mac == forged.mac else real(self, mac))
    assert refused(home, tmp_path / "old").code == "copy_tampered"


def test_what_was_put_in_the_keeps_place_does_not_vouch_for_a_copy(
    home: Path, old: KeepKeys, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    plant(tmp_path / "old", old)
    newest = Keyring(home / "keys").open("alice")
    database = home / "data" / "alice.db"
    shutil.copy(tmp_path / "old", database)
    SqliteBackend.alone(database, (newest.file, old.file), old.cipher, busy_seconds=1.0).close()
    with pytest.raises(StoreTampered):
        open_keep()
    assert refused(home, tmp_path / "old").code == "unknown_history"
    database.unlink()
    assert refused(home, tmp_path / "old").code == "unknown_history"


def test_a_store_that_ends_under_old_keys_is_neither_opened_nor_accepted(
    home: Path, old: KeepKeys, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    plant(tmp_path / "old", old)
    newest = Keyring(home / "keys").open("alice")
    database = home / "data" / "alice.db"
    shutil.copy(tmp_path / "old", database)
    SqliteBackend.alone(database, (newest.file, old.file), old.cipher, busy_seconds=1.0).close()
    for dry_run in (True, False):
        with pytest.raises(StoreTampered) as caught:
            accept("alice", by="eva", reason="looked at it", dry_run=dry_run, home=home)
        assert caught.value.code == "keys_superseded"
    (home / "keys" / "keeps" / "alice.anchor").unlink()
    with pytest.raises(TruekeepError):
        open_keep()


def test_salvage_does_not_count_rows_that_only_an_old_key_vouches_for(home: Path, old: KeepKeys) -> None:
    newest = Keyring(home / "keys").open("alice")
    opened = SqliteBackend.open(home / "data" / "alice.db", newest.file, newest.cipher)
    with closing(opened) as backend, backend.writing():
        genuine = next(iter(backend.rows("memories")))
        body = json.dumps(json.loads(genuine.body) | {"text": PLANT})
        forged = Row(900, "mem_00000000000000000000", "", body, b"")
        backend.insert("memories", forged._replace(mac=Seal(old).mac("memories", forged)))
    told = list(salvage("alice", home=home))
    assert not [one for one in told if PLANT in str(one)]
    assert told[-1]["not_verified"] == 1


def test_a_genuine_old_backup_is_put_back_also_when_the_keep_is_gone(
    home: Path, old: KeepKeys, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    for damage in ("none", "gone", "noise"):
        if damage != "none":
            (home / "data" / "alice.db").unlink()
        if damage == "noise":
            (home / "data" / "alice.db").write_bytes(b"x" * 9000)
        done = restore("alice", tmp_path / "old", by="eva", reason="disk failure", home=home)
        assert done.anchored_at > done.ends_at
        with open_keep() as keep:
            assert texts(keep) == [TEXT.format(1), TEXT.format(2)]
            assert keep.audit.verify().ok


def test_a_backup_of_a_history_that_was_given_up_is_not_put_back_unasked(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    grown(open_keep, 1)
    back_up("alice", tmp_path / "first", home=home)
    grown(open_keep, 2)
    back_up("alice", tmp_path / "second", home=home)
    restore("alice", tmp_path / "first", by="eva", reason="wrong import", home=home)
    grown(open_keep, 3)
    assert refused(home, tmp_path / "second").code == "unknown_history"


def test_a_person_can_take_it_all_the_same_and_the_log_names_what_is_lost(
    home: Path, old: KeepKeys, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    """A backup that nobody can vouch for is better than none; but not unasked."""
    with forging(tmp_path / "old", old) as (_, entry):
        entry.event("test.unknown")
    error = refused(home, tmp_path / "old")
    assert "--unsafe-unknown-history" in error.hint
    done = restore("alice", tmp_path / "old", by="eva", reason="all we have", home=home, unsafe_unknown_history=True)
    assert str(error) in done.problems
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1), TEXT.format(2)]
        assert keep.audit.verify().ok
        (event,) = keep.audit.events(kinds=["store.accepted"])
        assert str(error) in event.body["problems"]
    assert not Keyring(home / "keys").open("alice").pending


def test_the_terminal_refuses_and_takes_the_override(home: Path, old: KeepKeys, tmp_path: Path) -> None:
    plant(tmp_path / "old", old)
    words = ["restore", str(tmp_path / "old"), "--keep", "alice", "--by", "eva", "--reason", "x", "--home", str(home)]
    ran = CliRunner().invoke(cli, words)
    assert isinstance(ran.exception, StoreTampered)
    assert "--unsafe-unknown-history" in ran.exception.hint
    ran = CliRunner().invoke(cli, [*words, "--unsafe-unknown-history"])
    assert ran.exit_code == 0
    assert "no event of this keep's history" in " ".join(ran.output.split())


def test_a_copy_that_changes_after_it_was_verified_does_not_count(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft lies in the data directory, where the attacker writes."""
    grown(open_keep, 1, 2)
    back_up("alice", tmp_path / "copy", home=home)
    keys = Keyring(home / "keys").open("alice")
    rename = Path.rename

    def meanwhile(self: Path, target: Path) -> Path:
        if ".db." in self.name:
            with closing(SqliteBackend.open(self, keys.file, keys.cipher)) as backend, backend.writing():
                backend.remove("memories", 1)
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", meanwhile)
        with pytest.raises(StoreTampered) as caught:
            restore("alice", tmp_path / "copy", by="eva", reason="monday", home=home)
    assert caught.value.code == "copy_tampered"
    with pytest.raises(StoreTampered):
        open_keep()
    restore("alice", tmp_path / "copy", by="eva", reason="monday", home=home)
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1), TEXT.format(2)]
