"""A shop with two enrolled systems, under the preset that stores clean hearsay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Keep, Session

CONFIG = """
[channels.crm]
standing = "enrolled"
[channels.billing]
standing = "enrolled"
[tools.pay]
contents = ["note"]
[tools.look_up]
reads = true
"""


@pytest.fixture
def shop(home: Path, clock: Clock) -> Iterator[Keep]:
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    with Keep.open("shop", home=home, clock=clock, policy="inform", background=False) as keep:
        yield keep


@pytest.fixture
def session(shop: Keep) -> Session:
    return shop.session("s-1", mediated=True)
