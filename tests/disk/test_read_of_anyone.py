"""Reading what others wrote: no link is followed, nothing waits, and what is too large is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from truekeep import disk


def test_a_regular_file_is_read_whoever_owns_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"text")
    if os.geteuid() == 0:
        os.chown(path, 12_345, 12_345)
    assert disk.read_of_anyone(path, 4) == b"text"
    with pytest.raises(OSError, match="too large"):
        disk.read_of_anyone(path, 3)


def test_links_and_pipes_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError):  # noqa: PT011 - which one differs between systems
            disk.read_of_anyone(tmp_path / name, 1_000)
