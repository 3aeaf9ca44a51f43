"""One server for all tests here, and a database of its own for whoever needs one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres.server import PROGRAMS, Database, Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if PROGRAMS is None:
        pytest.skip("PostgreSQL's server is not installed here")
    # A path of pytest's own is too long for a socket, and closed to the server's user.
    with tempfile.TemporaryDirectory(prefix="tk-pg-") as folder:
        running = Server(Path(folder))
        yield running
        running.stop()


@pytest.fixture(scope="module")
def shared(server: Server) -> Iterator[Database]:
    """A database for all tests of a file; they use keeps of different names."""
    made = server.database()
    yield made
    made.drop()


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    """A database for one test, which may break it."""
    made = server.database()
    yield made
    made.drop()
