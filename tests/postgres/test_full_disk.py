"""A disk that is really full: what was acknowledged stays, nothing is doubled, and later writing goes on."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.postgres.server import Database, Server
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import StoreFull


@pytest.fixture
def small() -> Iterator[Path]:
    """A disk of a few megabytes."""
    with tempfile.TemporaryDirectory(prefix="tk-sm-") as folder:
        Path(folder).chmod(0o711)
        mounted = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder]
        if subprocess.run(mounted, check=False, capture_output=True).returncode:
            pytest.skip("a small disk may not be mounted here")
        yield Path(folder)
        subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_full_loses_nothing_and_is_told(home: Path, server: Server, small: Path) -> None:
    made = server.database(disk=small)
    try:
        with Keep.open("alice", home=home, settings=settings_for(made), background=False) as keep:
            assert keep.remember("The cat is called Mia.", via="user").accepted
            filler = small / "filler"
            fill(filler)
            written = ["The cat is called Mia."]
            with pytest.raises(StoreFull) as caught:
                for number in range(2_000):
                    text = f"Box {number} holds cables."
                    assert keep.remember(text, via="user").accepted
                    written.append(text)
            assert caught.value.code == "store_full"
            assert caught.value.hint
            assert stored(keep) == sorted(written), "it still answers"
            filler.unlink()
            assert keep.remember("There is room again.", via="user").accepted
            assert stored(keep) == sorted([*written, "There is room again."])
            assert keep.audit.verify().ok
    finally:
        made.drop()
        server.run(f"DROP TABLESPACE IF EXISTS of_{made.name}")


def settings_for(database: Database) -> Settings:
    return replace(Settings(), store=database.dsn, embedder="none")


def stored(keep: Keep) -> list[str]:
    return sorted(memory["content"] for memory in keep.get_memories(limit=5_000))


def fill(filler: Path) -> None:
    """Take every page that is left."""
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4_096)):
                pass
        except OSError:
            return
