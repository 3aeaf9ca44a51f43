"""Nothing is kept in a session: a pooler in transaction mode may stand between, with one connection for everybody."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from tests.postgres.bouncer import PROGRAM, Bouncer
from tests.postgres.server import Database
from truekeep import Keep
from truekeep.config import Settings
from truekeep.stores.base import Backend
from truekeep.stores.conformance import BackendConformance
from truekeep.stores.postgres import PostgresBackend
from truekeep.stores.postgres_keys import DatabaseKeyring
from truekeep.stores.postgres_lines import forget_lines

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed here")


@pytest.fixture(scope="module", params=[4], ids="{} connections".format)
def pooled(shared: Database, request: pytest.FixtureRequest) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tk-pool-") as folder:
        bouncer = Bouncer(Path(folder), shared, request.param)
        yield bouncer.dsn
        forget_lines(bouncer.dsn)
        bouncer.stop()


class TestThroughAPooler(BackendConformance):
    scrubs = False
    dsn: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _pooled(self, pooled: str) -> None:
        type(self).dsn = pooled

    def open(self, place: Path) -> Backend:
        ring = DatabaseKeyring(self.dsn, place / "keys")
        name = f"pooled-{place.name}"
        return PostgresBackend(self.dsn, name, ring.open(name) if ring.exists(name) else ring.create(name))


@pytest.mark.parametrize("pooled", [1], indirect=True, ids=["one connection"])
def test_many_keeps_share_one_connection_and_none_sees_another(home: Path, pooled: str) -> None:
    settings = replace(Settings(), store=pooled, embedder="none")

    def live(number: int) -> set[str]:
        with Keep.open(f"pooled-{number}", home=home, settings=settings, background=False) as keep:
            for part in range(5):
                assert keep.remember(f"Shelf {number}-{part} holds cables.", via="user").accepted
                assert keep.recall(f"What does shelf {number}-{part} hold?")
            assert keep.audit.verify().ok
            return {memory["content"] for memory in keep.get_memories()}

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(live, range(4)))
    for number, texts in enumerate(found):
        assert texts == {f"Shelf {number}-{part} holds cables." for part in range(5)}
