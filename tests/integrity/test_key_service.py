"""The master key may stay in a key service: it wraps and unwraps, and its own key is never here."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integrity.greenhouse import texts
from tests.integrity.key_server import ADDRESS, KeyServer
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.errors import ConfigError, KeyUnavailable
from truekeep.stores.rotation import rotate_data, rotate_master

PLUGIN = "plugin:tests.integrity.key_server:RemoteKeys"
SETTINGS = Settings(master_key=PLUGIN, embedder="none")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyServer]:
    running = KeyServer()
    monkeypatch.setenv(ADDRESS, running.address)
    yield running
    running.close()


def opened(home: Path, name: str = "alice") -> Keep:
    return Keep.open(name, home=home, settings=SETTINGS, background=False)


def test_a_keep_opens_with_a_service_that_is_asked_once(home: Path, server: KeyServer) -> None:
    with opened(home) as keep:
        assert keep.remember("The office is in Nitra.", via="user").accepted
    assert not (home / "keys" / "master.key").exists()
    server.asked.clear()
    with opened(home) as keep:
        assert texts(keep) == ["The office is in Nitra."]
    assert server.asked == ["unwrap"]


def test_a_new_key_of_the_service_wraps_while_the_keep_is_in_use(home: Path, server: KeyServer) -> None:
    paths = Paths.resolve(home)
    with opened(home) as keep:
        keep.remember("The office is in Nitra.", via="user")
        first = server.current
        server.rotate()
        assert rotate_master(paths, SETTINGS, to=PLUGIN).rewrapped == ("alice",)
        assert texts(keep), "it goes on"
    del server.keys[first]
    rotate_data(paths, "alice", lambda: datetime.now(UTC), SETTINGS)
    with opened(home) as keep:
        assert texts(keep) == ["The office is in Nitra."]
        assert keep.audit.verify().ok


def test_a_keep_moves_to_the_service_and_back(home: Path, server: KeyServer) -> None:
    own, paths = Settings(embedder="none"), Paths.resolve(home)
    with Keep.open("alice", home=home, settings=own, background=False) as keep:
        keep.remember("The office is in Nitra.", via="user")
    rotate_master(paths, own, to=PLUGIN)
    with opened(home) as keep:
        assert texts(keep) == ["The office is in Nitra."]
    with pytest.raises(KeyUnavailable):
        Keep.open("alice", home=home, settings=own)
    rotate_master(paths, SETTINGS, to="keys")
    with Keep.open("alice", home=home, settings=own, background=False) as keep:
        assert texts(keep) == ["The office is in Nitra."]
    with pytest.raises(KeyUnavailable) as caught:
        opened(home)
    assert caught.value.code == "wrong_key"
    assert server.asked


def test_a_service_that_refuses_or_is_gone_is_told_without_what_it_said(home: Path, server: KeyServer) -> None:
    opened(home).close()
    server.refuses = True
    with pytest.raises(KeyUnavailable) as caught:
        opened(home)
    assert caught.value.code == "key_service_failed"
    assert "127.0.0.1" not in f"{caught.value} {caught.value.hint}"
    assert caught.value.__cause__ is None
    server.refuses = False
    opened(home).close()


def test_a_key_that_was_copied_to_another_keep_does_not_open_there(home: Path, server: KeyServer) -> None:
    for name in ("alice", "bob"):
        opened(home, name).close()
    keys = home / "keys" / "keeps"
    entry = json.loads((keys / "alice.key").read_text())
    theirs = json.loads((keys / "bob.key").read_text())
    (keys / "bob.key").write_text(json.dumps({**theirs, "service": entry["service"]}))
    with pytest.raises(KeyUnavailable):
        opened(home, "bob")
    shutil.copy(keys / "alice.key", keys / "bob.key")
    with pytest.raises(KeyUnavailable):
        opened(home, "bob")
    assert server.asked[-1] == "unwrap"


@pytest.mark.parametrize("place", ["", "no.such.module:Keys", "json:nothing", "tests.integrity.key_server:KeyServer.x"])
def test_a_plug_in_that_is_not_there_is_a_clear_error(home: Path, place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Keep.open("alice", home=home, settings=Settings(master_key=f"plugin:{place}", embedder="none"))
    assert "plugin:MODULE:NAME" in caught.value.hint
