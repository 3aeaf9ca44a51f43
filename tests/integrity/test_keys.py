"""Keys come from where the operator says, rotate without losing anything, and are never shown."""

from __future__ import annotations

import base64
import logging
import os
import secrets
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import Clock, intruder
from truekeep import Keep
from truekeep.cli import cli
from truekeep.config import Paths, Settings
from truekeep.errors import ConfigError, InvalidRequest, KeyUnavailable, StoreBusy, StoreTampered, TruekeepError
from truekeep.recovery import back_up, restore
from truekeep.stores import keyfile, master
from truekeep.stores.anchor import FileAnchor
from truekeep.stores.files import keyring
from truekeep.stores.keys import Keyring
from truekeep.stores.rotation import rotate_data, rotate_master
from truekeep.stores.sqlite import SqliteBackend
from truekeep.types import utc_text

TEXT = "The greenhouse in row {} is heated."


@pytest.fixture
def open_keep(home: Path, clock: Clock) -> Callable[[], Keep]:
    return lambda: Keep.open("alice", home=home, clock=clock)


@pytest.fixture(autouse=True)
def _ask_commands_again() -> Iterator[None]:
    yield
    master._answered.cache_clear()


def texts(keep: Keep) -> list[str]:
    return [entry["content"] for entry in keep.get_memories()]


def grown(open_keep: Callable[[], Keep], *numbers: int) -> None:
    with open_keep() as keep:
        for number in numbers:
            assert keep.remember(TEXT.format(number), via="user").accepted


# The master key


def test_a_new_master_key_wraps_every_keep_while_they_are_in_use(home: Path, open_keep: Callable[[], Keep]) -> None:
    paths = Paths.resolve(home)
    with open_keep() as keep, Keep.open("bob", home=home) as bob:
        before = Keyring(paths.keys).wrapped_by("alice")
        done = rotate_master(paths, Settings())
        assert done.rewrapped == ("alice", "bob")
        assert done.master != before
        assert keep.remember(TEXT.format(1), via="user").accepted
        assert bob.remember("Bob's.", via="user").accepted
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]
    assert before not in (home / "keys" / "master.key").read_text()


def test_an_old_key_directory_still_opens_with_its_own_master_key(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    grown(open_keep, 1)
    shutil.copytree(home / "keys", tmp_path / "old")
    rotate_master(Paths.resolve(home), Settings())
    shutil.rmtree(home / "keys")
    shutil.copytree(tmp_path / "old", home / "keys")
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]


@pytest.mark.parametrize("step", range(6))
def test_a_master_rotation_cut_off_anywhere_leaves_every_keep_openable(
    home: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    for name in ("alice", "bob", "cyril"):
        with Keep.open(name, home=home) as keep:
            keep.remember(f"{name}'s.", via="user")
    _cut_off(monkeypatch, step, (keyfile, "replace_entry"), (master, "replace_entry"))
    with pytest.raises(KeyboardInterrupt) if step < 5 else _nothing():
        rotate_master(Paths.resolve(home), Settings())
    monkeypatch.undo()
    monkeypatch.setenv("TRUEKEEP_EMBEDDER", "none")
    for _ in range(2):
        for name in ("alice", "bob", "cyril"):
            with Keep.open(name, home=home) as keep:
                assert texts(keep) == [f"{name}'s."]
        rotate_master(Paths.resolve(home), Settings())


class _nothing:  # noqa: N801 - reads like pytest.raises beside it
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _cut_off(monkeypatch: pytest.MonkeyPatch, step: int, *places: tuple[object, str]) -> None:
    """Let the process die, as it were, at the n-th of these steps, before or after it has taken effect."""
    taken = [0]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            taken[0] += 1
            if taken[0] == step + 1 and step % 2 == 0:
                raise KeyboardInterrupt
            result = real(*arguments, **named)
            if taken[0] == step + 1:
                raise KeyboardInterrupt
            return result

        return call

    for owner, name in places:
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
    if any(owner is keyfile for owner, _ in places):
        monkeypatch.setattr("truekeep.stores.keys.replace_entry", keyfile.replace_entry)


# The data key


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


@pytest.mark.parametrize("step", range(10))
def test_a_data_rotation_cut_off_anywhere_loses_nothing_and_is_finished_by_the_next(
    home: Path, open_keep: Callable[[], Keep], monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    grown(open_keep, 1, 2)
    paths = Paths.resolve(home)
    from truekeep.stores import rotation

    places = ((keyfile, "replace_entry"), (SqliteBackend, "alone"), (rotation, "_resealed"), (FileAnchor, "advance"))
    _cut_off(monkeypatch, step, *places)
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


# Where the master key comes from


def sources(folder: Path, key: bytes, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    (folder / "key.hex").write_text(key.hex() + "\n")
    (folder / "key.raw").write_bytes(key)
    script = folder / "kms"
    script.write_text(f"#!/bin/sh\necho noise >&2\ncat {folder / 'key.hex'}\n")
    script.chmod(0o700)
    monkeypatch.setenv("MY_MASTER", base64.b64encode(key).decode())
    return {
        "environment": "env:MY_MASTER",
        "file": f"file:{folder / 'key.hex'}",
        "raw file": f"file:{folder / 'key.raw'}",
        "command": f"command:{script} --decrypt 'a b'",
    }


@pytest.mark.parametrize("source", ["environment", "file", "raw file", "command"])
def test_the_master_key_comes_from_where_the_settings_say(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    key = secrets.token_bytes(32)
    spec = sources(tmp_path, key, monkeypatch)[source]
    monkeypatch.setenv("TRUEKEEP_MASTER_KEY", spec)
    with Keep.open("alice", home=home) as keep:
        assert keep.remember("The office is in Nitra.", via="user").accepted
    assert not (home / "keys" / "master.key").exists()
    with Keep.open("alice", home=home) as keep:
        assert texts(keep) == ["The office is in Nitra."]
    monkeypatch.delenv("TRUEKEEP_MASTER_KEY")
    with pytest.raises(KeyUnavailable):
        Keep.open("alice", home=home)


def test_a_keep_moves_from_one_master_key_to_another_and_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = sources(tmp_path, secrets.token_bytes(32), monkeypatch)
    paths = Paths.resolve(home)
    with Keep.open("alice", home=home) as keep:
        keep.remember("The office is in Nitra.", via="user")
    rotate_master(paths, Settings(), to=specs["command"])
    with pytest.raises(KeyUnavailable) as caught:
        Keep.open("alice", home=home)
    assert caught.value.code == "wrong_key"
    moved = Settings(master_key=specs["environment"], embedder="none")
    with Keep.open("alice", home=home, settings=moved) as keep:
        assert texts(keep) == ["The office is in Nitra."]
    with pytest.raises(InvalidRequest) as refused:
        rotate_master(paths, moved)
    assert refused.value.code == "foreign_master"
    rotate_master(paths, moved, to="keys")
    with Keep.open("alice", home=home) as keep:
        assert texts(keep) == ["The office is in Nitra."]


BAD = [
    "env:NOT_SET",
    "env:",
    "file:/nowhere/at/all",
    "command:false",
    "command:/no/such/program",
    "command:'",
    "aes:1",
    "x",
]


@pytest.mark.parametrize("spec", BAD)
def test_a_master_key_that_cannot_be_had_is_a_clear_error(home: Path, spec: str) -> None:
    with pytest.raises((KeyUnavailable, ConfigError)) as caught:
        Keep.open("alice", home=home, settings=Settings(master_key=spec, embedder="none"))
    assert caught.value.hint


def test_a_second_keep_is_not_given_a_fresh_master_key_when_the_old_one_is_lost(
    home: Path, open_keep: Callable[[], Keep]
) -> None:
    grown(open_keep, 1)
    (home / "keys" / "master.key").unlink()
    with pytest.raises(KeyUnavailable):
        Keep.open("bob", home=home)
    assert not (home / "keys" / "master.key").exists()


# Keys are never shown


def shapes(secret: bytes) -> set[str]:
    return {secret.hex(), base64.b64encode(secret).decode(), repr(secret)[2:-1]}


def everything_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + str(getattr(error, "hint", ""))


RUN = """
import json, logging, sys, traceback
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
from pathlib import Path
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.keep import now
from truekeep.stores.files import keyring
from truekeep.stores.rotation import rotate_data
home = sys.argv[1]
with Keep.open("alice", home=home) as keep:
    keep.remember("The office is in Nitra.", via="user")
    print(keep.describe(), vars(keep), keep.audit.events(), keep.get_memories())
paths = Paths.resolve(home)
settings = Settings.load(paths.config)
ring = keyring(paths, settings)
print(ring, vars(ring), ring.open("alice"), ring.secret("alice"), ring.masters.current(), settings)
rotate_data(paths, "alice", now, settings)
print(Path("/proc/self/cmdline").read_bytes())
try:
    damaged = {"truekeep": "keep-key", "version": 1, "master": ring.masters.current().id}
    (paths.keys / "keeps" / "alice.key").write_text(json.dumps(damaged))
    Keep.open("alice", home=home)
except Exception:
    traceback.print_exc()
"""


@pytest.mark.parametrize("source", ["environment", "file", "command"])
def test_no_key_is_in_output_logs_errors_or_process_listings(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    key = secrets.token_bytes(32)
    environment = os.environ | {"TRUEKEEP_MASTER_KEY": sources(tmp_path, key, monkeypatch)[source]}
    environment |= {"MY_MASTER": base64.b64encode(key).decode()} if source == "environment" else {}
    shown = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", RUN, str(home)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = Paths.resolve(home)
    told = shown.stdout + shown.stderr
    assert "wrong_key" in told or "cannot be unwrapped" in told, "the run got to its end"
    assert not [shape for shape in shapes(key) if shape in told]
    stored = b"".join(path.read_bytes() for path in paths.data.rglob("*") if path.is_file())
    stored += b"".join(path.read_bytes() for path in paths.keys.rglob("*") if path.is_file())
    assert not [shape for shape in shapes(key) if shape.encode() in stored]


def test_no_key_is_in_a_keeps_own_representations_exports_or_errors(
    home: Path, open_keep: Callable[[], Keep], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    grown(open_keep, 1)
    ring = keyring(Paths.resolve(home), Settings())
    secret, keys, first = ring.secret("alice"), ring.open("alice"), ring.masters.current()
    secrets_held = [secret.root, *secret.data, first.key, keys.digest, keys.anchor, keys.sign]
    secrets_held += [part for epoch in keys.epochs for part in (epoch.file, epoch.mac, epoch.audit)]
    told = [repr(secret), repr(keys), repr(first), repr(keys.epochs), str(vars(ring)), caplog.text]
    for arguments in (["keys", "status"], ["keys", "status", "--format", "json"], ["doctor"], ["audit", "events"]):
        told.append(CliRunner().invoke(cli, [*arguments, "--home", str(home)]).output)
    (home / "keys" / "master.key").write_text("{}")
    try:
        open_keep()
    except KeyUnavailable as error:
        told.append(everything_of(error))
    for value in secrets_held:
        for shape in shapes(value):
            assert not any(shape in text for text in told)


def test_the_terminal_shows_fingerprints_and_public_keys(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    first = CliRunner().invoke(cli, ["keys", "status", "--home", str(home)]).output
    assert "public key ed25519:" in first
    rotated = CliRunner().invoke(cli, ["keys", "rotate", "--data", "--keep", "alice", "--home", str(home)])
    assert (rotated.exit_code, "keep: alice" in rotated.output) == (0, True)
    assert CliRunner().invoke(cli, ["keys", "rotate", "--master", "--home", str(home)]).exit_code == 0
    again = CliRunner().invoke(cli, ["keys", "status", "--home", str(home)]).output
    assert "data key 2" in again
    line = next(line for line in first.splitlines() if "public key" in line)
    assert line in again, "the public key lasts"


def test_a_killed_writers_draft_is_cleared_away(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    draft = home / "keys" / f".master.key.{secrets.token_hex(6)}"
    draft.write_text((home / "keys" / "master.key").read_text())
    rotate_master(Paths.resolve(home), Settings())
    assert not draft.exists()


def test_the_event_of_a_rotation_has_the_time_of_the_clock(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    moment = Clock().now
    rotate_data(Paths.resolve(home), "alice", lambda: moment, Settings())
    with open_keep() as keep:
        (event,) = keep.audit.events(kinds=["keys.rotated"])
    assert utc_text(event.at) == utc_text(moment)
