"""The master key is replaced while keeps are in use, and a rotation that is cut off loses none of them."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.integrity.cutting import cut_off
from tests.integrity.greenhouse import TEXT, grown, texts
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.stores import keyfile, master
from truekeep.stores.keys import Keyring
from truekeep.stores.rotation import rotate_master


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
    cut_off(monkeypatch, step, (keyfile, "replace_entry"), (master, "replace_entry"))
    with pytest.raises(KeyboardInterrupt) if step < 5 else nullcontext():
        rotate_master(Paths.resolve(home), Settings())
    monkeypatch.undo()
    monkeypatch.setenv("TRUEKEEP_EMBEDDER", "none")
    for _ in range(2):
        for name in ("alice", "bob", "cyril"):
            with Keep.open(name, home=home) as keep:
                assert texts(keep) == [f"{name}'s."]
        rotate_master(Paths.resolve(home), Settings())


def test_a_killed_writers_draft_is_cleared_away(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    draft = home / "keys" / f".master.key.{secrets.token_hex(6)}"
    draft.write_text((home / "keys" / "master.key").read_text())
    rotate_master(Paths.resolve(home), Settings())
    assert not draft.exists()
