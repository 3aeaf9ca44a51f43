"""Honest keeps to attack: built once for all tests of a run, copied for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from truekeep.config import Settings
from truekeep.redteam.attack import Truth
from truekeep.redteam.battery import bystanders
from truekeep.redteam.keep_store import KeepStore


@pytest.fixture(scope="session")
def arena(shared_cache: Path) -> Iterator[KeepStore]:
    """Sixty honest memories, found by keywords; in the long profile by meaning, which may change nothing."""
    embedder = "minilm" if os.environ.get("TRUEKEEP_LONG") else "none"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_cache))
        with KeepStore.holding(60, Settings(policy="inform", embedder=embedder)) as keep:
            yield keep


@pytest.fixture(scope="session")
def aside(arena: KeepStore) -> list[Truth]:
    """Honest facts that no attack may push out."""
    return bystanders(arena)
