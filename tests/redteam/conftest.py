"""Honest keeps to attack: built once for all tests of a run, copied for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from truekeep.config import Settings
from truekeep.redteam.influence.arena import Arena
from truekeep.redteam.influence.attack import Truth
from truekeep.redteam.influence.battery import bystanders


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Arena]:
    """Sixty honest memories, found by the default embedder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        yield Arena(tmp_path_factory.mktemp("arena"), 60, Settings(policy="inform", embedder="minilm"))


@pytest.fixture(scope="session")
def aside(arena: Arena) -> list[Truth]:
    """Honest facts that no attack may push out."""
    return bystanders(arena)
