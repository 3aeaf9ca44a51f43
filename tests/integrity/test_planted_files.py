"""Whoever writes the data directory can put links, pipes and other files there; none of it leads a keep astray."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integrity.greenhouse import TEXT, grown, texts
from truekeep import Keep
from truekeep.config import Paths
from truekeep.errors import AnchorUnavailable, InvalidRequest, KeyUnavailable, StoreBusy, StoreError, StoreTampered
from truekeep.ops.recovery import back_up, destroy, restore
from truekeep.ops.redteam_scores import last
from truekeep.serve.chores import Chores
from truekeep.serve.pool import Pool
from truekeep.serve.tokens import TokenBook
from truekeep.stores import keyfile


def symbolic(path: Path, target: Path) -> None:
    path.symlink_to(target)


def hard(path: Path, target: Path) -> None:
    os.link(target, path)


LINKS = pytest.mark.parametrize("link", [symbolic, hard])


@LINKS
def test_a_chores_lock_that_leads_to_the_keys_lock_does_not_hold_up_a_revocation(
    home: Path, open_keep: Callable[[], Keep], link: Callable[[Path, Path], None]
) -> None:
    grown(open_keep, 1)
    book = TokenBook(home / "keys")
    _, token = book.add("alice", "agent", ["read"])
    link(home / "data" / ".chores.lock", home / "keys" / ".lock")
    pool = Pool(home)
    chores = Chores(pool, 3_600.0)
    try:
        assert not chores._is_mine()
        assert book.revoke(token.id).revoked_at
    finally:
        chores.stop()
        pool.close()


def test_keys_that_another_process_does_not_let_go_of_are_told_instead_of_waited_for(
    home: Path, open_keep: Callable[[], Keep], monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(open_keep, 1)
    monkeypatch.setattr(keyfile, "_PATIENCE", 0.1)
    with keyfile.locked(home / "keys"), pytest.raises(StoreBusy) as caught:
        TokenBook(home / "keys").add("alice", "agent", ["read"])
    assert caught.value.code == "keys_in_use"


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe", "folder"])
def test_a_database_file_that_is_something_else_is_refused_and_leads_nowhere(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path, end: str, kind: str
) -> None:
    grown(open_keep, 1)
    planted, elsewhere = home / "data" / f"alice.db{end}", tmp_path / "elsewhere"
    if planted.exists():
        shutil.move(planted, elsewhere)
    elif kind == "link":
        elsewhere.write_bytes(b"precious")
    before = elsewhere.read_bytes() if elsewhere.exists() else None
    if kind.startswith("link"):
        planted.symlink_to(elsewhere if kind == "link" else tmp_path / "nowhere")
    elif kind == "pipe":
        os.mkfifo(planted)
    else:
        planted.mkdir()
    with pytest.raises(StoreError):
        open_keep()
    assert (elsewhere.read_bytes() if elsewhere.exists() else None) == before
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_a_database_file_that_is_another_name_of_a_key_is_not_written(
    home: Path, open_keep: Callable[[], Keep], end: str
) -> None:
    """The engine would write its log over whatever the second name belongs to."""
    grown(open_keep, 1)
    Keep.open("bob", home=home).close()
    key, planted = home / "keys" / "keeps" / "bob.key", home / "data" / f"alice.db{end}"
    before = key.read_bytes()
    planted.unlink(missing_ok=True)
    os.link(key, planted)
    with pytest.raises(StoreTampered) as caught:
        open_keep()
    assert caught.value.code == "not_a_file"
    assert key.read_bytes() == before


def test_a_link_to_the_directory_is_the_operators_own(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path
) -> None:
    grown(open_keep, 1)
    shutil.move(home / "data", tmp_path / "volume")
    (home / "data").symlink_to(tmp_path / "volume")
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]


@LINKS
def test_an_anchor_elsewhere_is_not_written_through_a_link(
    home: Path, tmp_path: Path, link: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several may write to the directory of such an anchor."""
    for kind in ("file", "append"):
        monkeypatch.setenv("TRUEKEEP_ANCHOR", f"keys,{kind}:{tmp_path / kind}")
        victim = tmp_path / f"victim of {kind}"
        victim.write_bytes(b"precious")
        with Keep.open(kind, home=home) as keep:
            keep.remember(TEXT.format(1), via="user")
            (tmp_path / kind / f"{kind}.anchor").unlink()
            link(tmp_path / kind / f"{kind}.anchor", victim)
            with pytest.raises(AnchorUnavailable):
                keep.remember(TEXT.format(2), via="user")
        assert victim.read_bytes() == b"precious"


def test_a_key_file_that_is_a_link_is_no_key_file(home: Path, open_keep: Callable[[], Keep], tmp_path: Path) -> None:
    grown(open_keep, 1)
    key = home / "keys" / "keeps" / "alice.key"
    shutil.move(key, tmp_path / "alice.key")
    key.symlink_to(tmp_path / "alice.key")
    with pytest.raises(KeyUnavailable):
        open_keep()
    with pytest.raises(StoreError):
        destroy("alice", confirm="alice", home=home)
    assert (tmp_path / "alice.key").read_bytes().startswith(b"{")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_every_file_of_a_keep_is_its_owners_alone_from_the_first_moment(
    home: Path, open_keep: Callable[[], Keep], mask: int, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        with open_keep() as keep:
            keep.remember(TEXT.format(1), via="user")
            files = [path for path in home.rglob("*") if path.is_file()]
            assert {"alice.db", "alice.db-wal", "alice.db-shm"} <= {path.name for path in files}
            assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in files} == {
                path.name: 0o600 for path in files
            }
            back_up("alice", tmp_path / "copy", home=home)
        assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_log_that_others_could_read_is_made_private(home: Path, open_keep: Callable[[], Keep]) -> None:
    with open_keep() as keep:
        keep.remember(TEXT.format(1), via="user")
        for end in ("-wal", "-shm"):
            (home / "data" / f"alice.db{end}").chmod(0o644)
        with open_keep():
            assert stat.S_IMODE((home / "data" / "alice.db-wal").stat().st_mode) == 0o600


SLOW = """
import os, signal, sys
from truekeep.ops import recovery
from truekeep.stores import copying
def slow(*args):
    print("copied", flush=True)
    signal.pause()
copying.verified_copy = slow
{call}
"""
CALLS = {
    "backup": "recovery.back_up('alice', sys.argv[2], home=sys.argv[1])",
    "restore": "recovery.restore('alice', sys.argv[2], by='eva', reason='monday', home=sys.argv[1])",
}


@pytest.mark.parametrize("what", CALLS)
def test_a_killed_backup_or_restore_leaves_nothing_for_good(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path, what: str
) -> None:
    grown(open_keep, 1)
    copies = tmp_path / "copies"
    copies.mkdir()
    if what == "restore":
        back_up("alice", copies / "first", home=home)
    command = [sys.executable, "-c", SLOW.format(call=CALLS[what]), str(home), str(copies / "first")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stdout.readline() == b"copied\n"
        folder = copies if what == "backup" else home / "data"
        assert [path for path in folder.iterdir() if "draft" in path.name]
        # While it is being made, another one takes nothing of it away.
        back_up("alice", copies / "second", home=home)
        assert [path for path in folder.iterdir() if "draft" in path.name]
        child.send_signal(signal.SIGKILL)
    back_up("alice", copies / "third", home=home)
    if what == "restore":
        restore("alice", copies / "first", by="eva", reason="monday", home=home)
    assert not [path for path in folder.iterdir() if "draft" in path.name]
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]


@pytest.mark.parametrize("is_gone", [False, True], ids=["there", "gone"])
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_what_lies_beside_a_database_never_becomes_part_of_a_backup_that_is_put_back(
    home: Path, open_keep: Callable[[], Keep], tmp_path: Path, end: str, is_gone: bool
) -> None:
    grown(open_keep, 1)
    back_up("alice", tmp_path / "copy", home=home)
    if is_gone:
        (home / "data" / "alice.db").unlink()
    (home / "data" / f"alice.db{end}").symlink_to(tmp_path / "nowhere")
    restore("alice", tmp_path / "copy", by="eva", reason="monday", home=home)
    with open_keep() as keep:
        assert texts(keep) == [TEXT.format(1)]
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_never_goes_through_a_link(home: Path, open_keep: Callable[[], Keep], tmp_path: Path) -> None:
    grown(open_keep, 1)
    (tmp_path / "copy").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidRequest) as caught:
        back_up("alice", tmp_path / "copy", home=home)
    assert caught.value.code == "file_exists"
    assert not (tmp_path / "nowhere").exists()


def test_a_pipe_in_the_place_of_the_last_results_holds_nobody_up(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    os.mkfifo(home / "data" / "redteam.json")
    assert last(Paths.resolve(home)) == {}
