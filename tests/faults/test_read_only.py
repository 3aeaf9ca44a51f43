"""A place that cannot be written: the error says which, with a hint, and nothing is half-done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.plots import opened, require_whole, write
from truekeep.errors import AnchorUnavailable, StoreReadOnly


def _make_read_only(place: Path) -> None:
    for file in place.rglob("*"):
        file.chmod(0o500 if file.is_dir() else 0o400)
    place.chmod(0o500)


def _make_writable(place: Path) -> None:
    place.chmod(0o700)
    for file in place.rglob("*"):
        file.chmod(0o700 if file.is_dir() else 0o600)


@pytest.mark.parametrize("which", ["data", "home"])
def test_a_keep_in_a_read_only_directory_is_refused_with_a_hint_and_opens_once_it_can_be_written(
    unprivileged: Path, which: str
) -> None:
    home = unprivileged / "home"
    with opened(home) as keep:
        done = write(keep, range(3))
    place = home if which == "home" else home / which
    _make_read_only(place)
    with pytest.raises(StoreReadOnly) as caught:
        opened(home)
    assert caught.value.code == "store_read_only"
    assert "permissions" in caught.value.hint
    _make_writable(place)
    with opened(home) as keep:
        assert require_whole(keep, done) == set()
        assert write(keep, range(50, 53))


def test_a_keep_cannot_be_made_in_a_read_only_directory(unprivileged: Path) -> None:
    home = unprivileged / "home"
    home.mkdir(mode=0o500)
    with pytest.raises(StoreReadOnly) as caught:
        opened(home)
    assert caught.value.hint
    assert list(home.iterdir()) == []
    home.chmod(0o700)
    with opened(home) as keep:
        assert write(keep, range(3))


def test_a_keep_whose_anchor_may_not_be_written_is_refused_by_name_until_it_may(unprivileged: Path) -> None:
    home = unprivileged / "home"
    with opened(home) as keep:
        done = write(keep, range(3))
    _make_read_only(home / "keys")
    with pytest.raises(AnchorUnavailable) as caught:
        opened(home)
    assert caught.value.code == "anchor_unavailable"
    assert caught.value.hint
    _make_writable(home / "keys")
    with opened(home) as keep:
        assert require_whole(keep, done) == set()
        assert write(keep, range(50, 53))
