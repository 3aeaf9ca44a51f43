"""A disk without space: the write is refused by name, nothing acknowledged is lost, and with room it goes on."""

from __future__ import annotations

import errno
import resource
from pathlib import Path
from typing import Any

import pytest

from tests.faults import syscalls
from tests.faults.child import in_child
from tests.faults.plots import opened, require_whole, write, write_until_refused
from truekeep.errors import StoreFull, TruekeepError


def _limit(size: int) -> None:
    """How large a file of this process may grow."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most if size < 0 else size, most))


def _fill_up(home: Path, spare: int) -> tuple[list[str], list[str]]:
    """Write until the file may not grow, look, make room, and go on."""
    with opened(home) as keep:
        done = write(keep, range(5))
        _limit(max(file.stat().st_size for file in (home / "data").iterdir()) + spare)
        more, error = write_until_refused(keep, first=100)
        assert isinstance(error, StoreFull), repr(error)
        assert error.code == "store_full"
        assert "space" in error.hint
        done += more
        assert require_whole(keep, done) == set(), "what was refused is there"
        assert keep.recall("tenant of plot 3"), "reads go on"
        _limit(-1)
        after = write(keep, range(10_000, 10_003))
        assert len(after) == 3
        assert require_whole(keep, done + after) == set()
    return done, after


@pytest.mark.parametrize("spare", [1, 4_097, 9_000, 40_000, 200_001])
def test_a_full_disk_refuses_the_write_loses_nothing_and_goes_on_when_there_is_room(home: Path, spare: int) -> None:
    done, after = in_child(_fill_up, home, spare)
    with opened(home) as keep:
        assert require_whole(keep, [*done, *after]) == set()


def _no_space(home: Path) -> list[str]:
    with opened(home) as keep:
        done = write(keep, range(5))
        syscalls.fail(errno.ENOSPC, "pwrite64")
        more, error = write_until_refused(keep, first=100)
        assert isinstance(error, StoreFull), repr(error)
        return done + more


@pytest.mark.skipif(bool(syscalls.missing()), reason=syscalls.missing())
def test_what_was_acknowledged_before_the_disk_was_full_is_there_in_the_next_process(home: Path) -> None:
    done = in_child(_no_space, home)
    with opened(home) as keep:
        require_whole(keep, done)
        assert write(keep, range(50, 53))


def _found_under(limit: int, home: Path) -> Any:
    _limit(limit)
    try:
        opened(home).close()
    except TruekeepError as error:
        return error.code
    return None


@pytest.mark.parametrize("limit", [0, 60, 100, 300, 1_000, 9_000, 40_000])
def test_a_keep_that_could_not_be_made_for_want_of_space_is_made_later(home: Path, limit: int) -> None:
    assert in_child(_found_under, limit, home) == "store_full"
    with opened(home) as keep:
        assert write(keep, range(3))
        assert keep.audit.verify().ok
