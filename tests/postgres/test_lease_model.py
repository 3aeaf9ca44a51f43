"""The lease on a keep in a database is the one of the model: the server cuts a writer off, and it commits nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from tests.model.asked import WritersOfTheCode
from tests.model.spec import WRITING, wrote
from tests.postgres.server import Database
from truekeep.config import Paths, Settings
from truekeep.stores.files import open_ledger
from truekeep.stores.ledger import Ledger

pytestmark = pytest.mark.slow

MOMENT = datetime(2027, 3, 8, 10, tzinfo=UTC)


@pytest.mark.timeout(300)
def test_two_writers_walk_every_path_as_the_model_does(tmp_path: Path, database: Database) -> None:
    settings = Settings(store=database.dsn, embedder="none", busy_seconds=0.05)

    def opened() -> Ledger:
        return open_ledger(Paths.resolve(tmp_path), "model", lambda: MOMENT, settings)

    def cut(ledger: Ledger) -> None:
        line = ledger._backend._line  # type: ignore[attr-defined]
        database.run(f"SELECT pg_terminate_backend({line.info.backend_pid}, 5000)")

    code = WritersOfTheCode(opened, cut)
    for path in product(WRITING, repeat=3):
        assert code.walk(path) == wrote(path), path
    code.close()
