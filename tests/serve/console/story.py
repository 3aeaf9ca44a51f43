"""The demo story in a home of its own, played once for all tests and copied for each."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from truekeep.demo import play

KEEP = "studio"
FORGER = "northwind-billing.example"


@cache
def _played() -> Path:
    home = Path(mkdtemp(prefix="truekeep-story-"))
    play(home)
    return home


def story_in(home: Path) -> Path:
    """A copy of the story's home at that place."""
    shutil.copytree(_played(), home)
    return home
