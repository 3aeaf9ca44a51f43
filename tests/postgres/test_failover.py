"""A primary that is killed under load takes nothing with it that was acknowledged."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.postgres.failover import Failover, Pair
from tests.postgres.server import PROGRAMS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAMS is None, reason="PostgreSQL's server is not installed here"),
]


@pytest.mark.timeout(180)
def test_the_standby_has_everything_that_was_acknowledged() -> None:
    with tempfile.TemporaryDirectory(prefix="tk-fo-") as folder:
        Path(folder).chmod(0o711)
        servers = Pair(Path(folder))
        try:
            played = Failover(Path(folder), servers)
            played.play(2)
        finally:
            servers.stop()
    assert played.told["written"] >= 20
    assert played.told["read"]
