"""One server for all tests here, and a database of its own for whoever needs one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.server import Database, Server, running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


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
