"""Files are opened, locked and written without following links, and drafts of killed processes are cleared away."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from truekeep import disk


def link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def second_name(path: Path, target: Path) -> None:
    os.link(target, path)


def dangling(path: Path, target: Path) -> None:
    path.symlink_to(target.with_name("nowhere"))


def pipe(path: Path, target: Path) -> None:
    os.mkfifo(path)


def folder(path: Path, target: Path) -> None:
    path.mkdir()


PLANTS = (link, second_name, dangling, pipe, folder)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    return target


@pytest.mark.parametrize("plant", PLANTS)
def test_nothing_planted_is_locked_or_written(
    tmp_path: Path, target: Path, plant: Callable[[Path, Path], None]
) -> None:
    path = tmp_path / "file"
    plant(path, target)
    with pytest.raises(OSError, match="file"):
        disk.try_lock(path)
    with pytest.raises(OSError, match="file"):
        disk.opened(path, os.O_WRONLY)
    assert target.read_bytes() == b"precious"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("plant", [link, dangling, pipe, folder])
def test_nothing_planted_is_read(tmp_path: Path, target: Path, plant: Callable[[Path, Path], None]) -> None:
    plant(tmp_path / "file", target)
    with pytest.raises(OSError, match="file"):
        disk.read(tmp_path / "file")


@pytest.mark.parametrize("plant", PLANTS)
def test_nothing_planted_is_left_to_another_to_open(
    tmp_path: Path, target: Path, plant: Callable[[Path, Path], None]
) -> None:
    plant(tmp_path / "file", target)
    with pytest.raises(disk.UnsafeFile):
        disk.require_plain(tmp_path / "file")


@pytest.mark.parametrize("plant", PLANTS[:-1])
def test_new_content_takes_the_place_of_what_was_planted_and_goes_nowhere_else(
    tmp_path: Path, target: Path, plant: Callable[[Path, Path], None]
) -> None:
    path = tmp_path / "file"
    plant(path, target)
    disk.write_once(path, b"first")
    disk.replace(path, b"ours")
    assert disk.read(path) == b"ours"
    assert path.stat().st_mode & 0o777 == 0o600
    assert target.read_bytes() == b"precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_somebody_elses_file_is_not_used(tmp_path: Path, unprivileged: Path) -> None:
    os.seteuid(0)
    path = unprivileged / "file"
    path.write_bytes(b"theirs")
    os.chown(path, 12345, 12345)
    path.chmod(0o666)
    os.seteuid(65534)
    for use in (disk.read, disk.try_lock, disk.require_plain):
        with pytest.raises(disk.UnsafeFile):
            use(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees other people's directories")
def test_an_administrator_uses_what_the_directorys_owner_owns(tmp_path: Path) -> None:
    path = tmp_path / "theirs" / "file"
    path.parent.mkdir()
    path.write_bytes(b"theirs")
    os.chown(path.parent, 12345, 12345)
    os.chown(path, 12345, 12345)
    assert disk.read(path) == b"theirs"
    os.chown(path, 12346, 12346)
    with pytest.raises(disk.UnsafeFile):
        disk.read(path)


def test_a_lock_is_held_by_one_and_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = disk.try_lock(path)
    assert held is not None
    assert disk.try_lock(path) is None
    with pytest.raises(TimeoutError), disk.locked(path, 0.1):
        pass
    threading.Timer(0.2, os.close, [held]).start()
    with disk.locked(path, 30.0):
        assert disk.try_lock(path) is None


KILLED = """
import os, signal, sys
from pathlib import Path
from truekeep import disk
with disk.drafted(Path(sys.argv[1]), b"a key") as draft:
    draft.with_name(draft.name + "-wal").write_bytes(b"more")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_and_what_is_being_made_stays(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "file")], check=False, timeout=60)
    (tmp_path / ".bashrc.0123456789ab").write_bytes(b"somebody's own")
    assert sum("truekeep-draft" in path.name for path in tmp_path.iterdir()) == 2
    with disk.drafted(tmp_path / "other", b"being made") as draft:
        assert disk.tidy(tmp_path) == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([draft.name, ".bashrc.0123456789ab"])
    assert [path.name for path in tmp_path.iterdir()] == [".bashrc.0123456789ab"]


def test_a_name_that_a_killed_process_left_beside_its_draft_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "alice.anchor"
    disk.write_once(path, b"whole")
    os.link(path, tmp_path / ".alice.anchor.0123456789ab.truekeep-draft")
    os.close(disk.opened(path, os.O_RDWR))
    assert path.stat().st_nlink == 1
    os.link(path, tmp_path / "second name")
    with pytest.raises(disk.UnsafeFile):
        disk.opened(path, os.O_RDWR)


def test_a_file_larger_than_it_can_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(11))
    assert disk.read(tmp_path / "file", 11) == bytes(11)
    with pytest.raises(OSError, match="too large"):
        disk.read(tmp_path / "file", 10)


OPENING = re.compile(
    r"os\.open\(|mkstemp|NamedTemporary|write_text\(|write_bytes\(|\.touch\(|[^.\w]open\([^)]*\"[rbt]*[wxa+]"
)
ELSEWHERE = {
    "cli/redteam.py": "a report into a folder that the person names and that is made for it",
}


def test_files_are_made_and_written_in_one_place() -> None:
    """What is measured against other systems writes to scratch folders of its own and is left out."""
    package = Path(disk.__file__).parents[1]
    found = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if not file.is_relative_to(package / "disk") and not file.is_relative_to(package / "redteam")
        if OPENING.search(file.read_text("utf-8"))
    }
    assert found <= ELSEWHERE.keys()
