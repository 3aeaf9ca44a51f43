"""A right that the service's role lacks is told as that, whichever it is, and nothing is half done for want of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.postgres.server import SERVICE, Database
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import TruekeepError
from truekeep.stores.postgres_lines import forget_lines

KEPT = "The cat is called Mia."


def opened(home: Path, database: Database, name: str = "alice") -> Keep:
    settings = replace(Settings(), store=database.dsn, embedder="none")
    return Keep.open(name, home=home, settings=settings, background=False)


def live(home: Path, database: Database) -> None:
    """What needs every right: open, read, write, change and take away."""
    with opened(home, database) as keep:
        written = keep.remember("The dog is called Rex.", via="user")
        assert written.memory_id
        keep.update_memory(written.memory_id, "The dog is called Max.", via="user")
        keep.forget([written.memory_id], via="user")


@pytest.mark.parametrize(
    "right",
    [
        *(f"{verb} ON truekeep.keeps" for verb in ("SELECT", "UPDATE")),
        *(f"{verb} ON truekeep.sealed" for verb in ("SELECT", "INSERT", "UPDATE", "DELETE")),
        *(f"{verb} ON truekeep.events" for verb in ("SELECT", "INSERT")),
        "SELECT ON truekeep.migrations",
        "USAGE ON SCHEMA truekeep",
    ],
)
def test_a_right_that_is_missing_is_told_and_with_it_the_keep_is_as_it_was(
    home: Path, database: Database, right: str
) -> None:
    with opened(home, database) as keep:
        keep.remember(KEPT, via="user")
    database.run(f"REVOKE {right} FROM {SERVICE}")
    forget_lines(database.dsn)
    with pytest.raises(TruekeepError) as caught:
        live(home, database)
    assert caught.value.code == "store_rights_missing"
    assert "truekeep db migrate" in caught.value.hint
    database.run(f"GRANT {right} TO {SERVICE}")
    with opened(home, database) as keep:
        assert KEPT in {memory["content"] for memory in keep.get_memories()}
        assert keep.audit.verify().ok
    live(home, database)
