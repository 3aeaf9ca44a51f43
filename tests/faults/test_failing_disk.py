"""A disk that fails to write through: nothing is acknowledged that might not last, and the keep opens afterwards."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.faults import syscalls
from tests.faults.child import in_child
from tests.faults.plots import opened, require_whole, write, write_until_refused
from truekeep import Keep, Settings
from truekeep.errors import AnchorUnavailable, StoreIOError, TruekeepError

needs_filter = pytest.mark.skipif(bool(syscalls.missing()), reason=syscalls.missing())
_LEFT_OPEN: list[Keep] = []


def _cannot_sync(home: Path, is_closed: bool) -> list[str]:
    keep = opened(home)
    done = write(keep, range(5))
    syscalls.fail(errno.EIO, "fsync", "fdatasync")
    for first in (100, 200):
        more, error = write_until_refused(keep, first)
        assert isinstance(error, StoreIOError), repr(error)
        assert error.code == "store_io_error"
        assert "space" not in error.hint
        assert more == [], "a write was acknowledged that was never synced"
    assert keep.recall("tenant of plot 3"), "reads go on"
    require_whole(keep, done)
    if is_closed:
        keep.close()
    else:
        _LEFT_OPEN.append(keep)  # the process ends with it open, as one that is killed
    return done


@needs_filter
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_write_that_cannot_be_synced_is_refused_and_what_was_acknowledged_lasts(home: Path, is_closed: bool) -> None:
    done = in_child(_cannot_sync, home, is_closed)
    with opened(home) as keep:
        require_whole(keep, done)
        assert write(keep, range(50, 53))
        assert keep.audit.verify().ok


def _found_without_sync(home: Path) -> str | None:
    syscalls.fail(errno.EIO, "fsync", "fdatasync")
    try:
        opened(home).close()
    except TruekeepError as error:
        return error.code
    return None


@needs_filter
def test_a_keep_that_could_not_be_made_durably_is_made_later(home: Path) -> None:
    assert in_child(_found_without_sync, home) == "store_io_error"
    with opened(home) as keep:
        assert write(keep, range(3))
        assert keep.audit.verify().ok


def test_a_write_whose_anchor_fails_is_not_acknowledged_and_nothing_follows_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with opened(home) as keep:
        done = write(keep, range(5))
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", failing)
            more, error = write_until_refused(keep, first=100)
            assert isinstance(error, AnchorUnavailable)
            assert more == []
            unacknowledged = require_whole(keep, done)
            more, error = write_until_refused(keep, first=200)
            assert isinstance(error, AnchorUnavailable)
            assert more == []
            assert require_whole(keep, done) == unacknowledged, "something was written on top of it"
    with opened(home) as keep:
        require_whole(keep, done)
        assert write(keep, range(50, 53))


def test_an_anchor_that_was_written_in_part_is_not_acknowledged_and_the_one_before_stands(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite

    def torn(handle: int, record: bytes, offset: int) -> int:
        return real(handle, record[:50], offset)

    with opened(home) as keep:
        done = write(keep, range(5))
        monkeypatch.setattr(os, "pwrite", torn)
        more, error = write_until_refused(keep, first=100)
        assert isinstance(error, AnchorUnavailable)
        assert more == []
        monkeypatch.setattr(os, "pwrite", real)
    with opened(home) as keep:
        require_whole(keep, done)
        assert write(keep, range(50, 53))


def test_an_append_only_anchor_whose_making_was_cut_off_is_made_the_next_time(home: Path, tmp_path: Path) -> None:
    settings = Settings(embedder="none", anchor=f"keys, append:{tmp_path / 'log'}")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "alice.anchor").write_bytes(b"tkanchr1")
    with Keep.open("alice", home=home, settings=settings) as keep:
        done = write(keep, range(3))
    with Keep.open("alice", home=home, settings=settings) as keep:
        assert require_whole(keep, done) == set()
