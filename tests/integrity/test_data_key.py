"""A keep's data key is replaced: everything is encrypted and sealed anew, and nothing is lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Clock, intruder
from tests.integrity.cutting import cut_off
from tests.integrity.greenhouse import TEXT, grown, texts
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.errors import InvalidRequest, StoreBusy, StoreTampered, TruekeepError
from truekeep.ops.recovery import back_up, restore
from truekeep.stores import keyfile
from truekeep.stores.anchor import FileAnchor
from truekeep.stores.keys import Keyring
from truekeep.stores.rotation import rotate_data, rotate_master
from truekeep.stores.sqlite import SqliteBackend
from truekeep.types import utc_text


def test_a_new_data_key_encrypts_and_seals_everything_anew(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1, 2)
    with open_keep() as keep:
        item = keep.remember("The depot is closed.", via="web").item_id
        assert item
        keep.review.reject(item, by="eva", reason="no")
    old = Keyring(home / "keys").open("alice")
    with intruder(home) as connection:
        before = dict(connection.execute("SELECT id, mac FROM memories"))
    rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
    with pytest.raises(TruekeepError):
        SqliteBackend.open(home / "data" / "alice.db", old.file, old.cipher)
    with intruder(home) as connection:
        after = dict(connection.execute("SELECT id, mac FROM memories"))
    assert after.keys() == before.keys()
    assert all(after[name] != before[name] for name in after)
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1), TEXT.format(2)]
        assert keep.audit.verify().ok
        assert keep.remember("The depot is closed.", via="web").code == "rejected_claim_rejected", "digests last"
        assert [event.kind for event in keep.audit.events()].count("keys.rotated") == 1


def test_keys_rotate_many_times(home: Path, open_keep: Callable[[], Keep]) -> None:
    for number in range(4):
        grown(open_keep, number)
        rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
        rotate_master(Paths.resolve(home), Settings())
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(number) for number in range(4)]
        assert keep.audit.verify().ok


def test_what_someone_with_the_old_keys_forges_is_not_believed(home: Path, open_keep: Callable[[], Keep]) -> None:
    """The old seals are worth nothing after a rotation, in the rows and in the history before it."""
    grown(open_keep, 1, 2)
    with intruder(home) as connection:
        (old,) = connection.execute("SELECT tag, body, mac, card FROM memories WHERE seq = 1").fetchall()
    rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET tag = ?, body = ?, mac = ?, card = ? WHERE seq = 1", old)
    with open_keep() as keep:
        assert [entry["blocked"] for entry in keep.get_memories()] == [True, False]
    keys = Keyring(home / "keys").open("alice")
    from truekeep.stores.base import EventRow
    from truekeep.stores.seal import Seal

    seal = Seal(keys)  # the first data key, which the forger holds
    with intruder(home) as connection:
        rows = [EventRow(*row) for row in connection.execute("SELECT * FROM events WHERE seq <= 3 ORDER BY seq")]
        forged = rows[1]._replace(body='{"memory":"another"}')
        connection.execute(
            "UPDATE events SET body = ?, hash = ? WHERE seq = 2", (forged.body, seal.link(rows[0].hash, forged))
        )
        forged_third = rows[2]._replace(hash=seal.link(seal.link(rows[0].hash, forged), rows[2]))
        connection.execute("UPDATE events SET hash = ? WHERE seq = 3", (forged_third.hash,))
    with pytest.raises(StoreTampered):
        open_keep()


@pytest.mark.slow
@pytest.mark.parametrize("step", range(10))
def test_a_data_rotation_cut_off_anywhere_loses_nothing_and_is_finished_by_the_next(
    home: Path, open_keep: Callable[[], Keep], monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    grown(open_keep, 1, 2)
    paths = Paths.resolve(home)
    from truekeep.stores import rotation

    places = ((keyfile, "replace_entry"), (SqliteBackend, "alone"), (rotation, "_resealed"), (FileAnchor, "advance"))
    cut_off(monkeypatch, step, *places)
    try:
        rotate_data(paths, "alice", lambda: Clock().now, Settings())
        finished = True
    except KeyboardInterrupt:
        finished = False
    monkeypatch.undo()
    monkeypatch.setenv("TRUEKEEP_EMBEDDER", "none")
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1), TEXT.format(2)]
        assert keep.audit.verify().ok
        assert keep.remember(TEXT.format(3), via="user").accepted
    rotate_data(paths, "alice", lambda: Clock().now, Settings())
    keys = Keyring(paths.keys).open("alice")
    assert not keys.pending
    assert len(keys.epochs) >= 2 + finished
    with open_keep() as keep:
        assert len(texts(keep)) == 3
        assert keep.audit.verify().ok


def test_a_keep_that_is_open_elsewhere_keeps_its_data_key(home: Path, open_keep: Callable[[], Keep]) -> None:
    with open_keep() as keep:
        keep.remember(TEXT.format(1), via="user")
        with pytest.raises(StoreBusy) as caught:
            rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings(busy_seconds=0.2))
        assert caught.value.code == "keep_in_use"
        assert keep.remember(TEXT.format(2), via="user").accepted
    with open_keep() as keep:
        assert len(texts(keep)) == 2
        assert keep.audit.verify().ok
    rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
    grown(open_keep, 3)


def test_a_tampered_keep_is_not_given_new_seals(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET body = '{}'")
    with pytest.raises(InvalidRequest) as caught:
        rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
    assert caught.value.code == "not_intact"


def test_an_old_key_file_after_a_rotation_is_named_as_such(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    grown(open_keep, 1)
    key = home / "keys" / "keeps" / "alice.key"
    shutil.copy(key, tmp_path / "old")
    rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
    shutil.copy(tmp_path / "old", key)
    with pytest.raises(TruekeepError):
        open_keep()


def test_a_backup_from_before_a_rotation_is_put_back_under_the_new_key(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    grown(open_keep, 1)
    back_up("alice", tmp_path / "backup", home=home)
    grown(open_keep, 2)
    for _ in range(2):
        rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
    restore("alice", tmp_path / "backup", by="eva", reason="trying", home=home)
    keys = Keyring(home / "keys").open("alice")
    assert not keys.pending
    SqliteBackend.open(home / "data" / "alice.db", keys.epochs[-1].file, keys.cipher).close()
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]
        assert keep.audit.verify().ok
    rotate_data(Paths.resolve(home), "alice", lambda: Clock().now, Settings())
    grown(open_keep, 3)


ROTATE = """
import sys
from truekeep.config import Paths, Settings
from truekeep.keep import now
from truekeep.stores.rotation import rotate_data, rotate_master
paths = Paths.resolve(sys.argv[1])
for _ in range(4):
    rotate_master(paths, Settings())
    rotate_data(paths, "alice", now, Settings())
"""


@pytest.mark.slow
def test_two_processes_rotating_at_once_end_with_a_whole_keep(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1, 2)
    with Keep.open("bob", home=home) as bob:
        bob.remember("Bob's.", via="user")
    running = [
        subprocess.Popen([sys.executable, "-c", ROTATE, str(home)], stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], errors
    keys = Keyring(home / "keys").open("alice")
    assert len(keys.epochs) == 9
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1), TEXT.format(2)]
        assert keep.audit.verify().ok
    with Keep.open("bob", home=home) as bob:
        assert texts(bob) == ["Bob's."]


def test_the_event_of_a_rotation_has_the_time_of_the_clock(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    moment = Clock().now
    rotate_data(Paths.resolve(home), "alice", lambda: moment, Settings())
    with open_keep() as keep:
        (event,) = keep.audit.events(kinds=["keys.rotated"])
    assert utc_text(event.at) == utc_text(moment)
