"""The master key comes from where the operator says."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integrity.greenhouse import grown, texts
from tests.integrity.key_sources import sources
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.errors import ConfigError, InvalidRequest, KeyUnavailable
from truekeep.stores.rotation import rotate_master


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
