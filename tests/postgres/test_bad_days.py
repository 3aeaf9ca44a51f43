"""Each bad day has its own error; nothing acknowledged is lost and nothing is written twice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import psycopg
import pytest

from tests.postgres.proxy import Proxy
from tests.postgres.server import SERVICE, Database, Server
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import CommitUnknown, StoreUnavailable, TruekeepError
from truekeep.stores import postgres_lines
from truekeep.stores.postgres_lines import forget_lines
from truekeep.stores.postgres_schema import MIGRATIONS, migrate
from truekeep.types import Verdict

SECRET = "hunter2-in-the-clear"


def opened(home: Path, dsn: str, **changes: object) -> Keep:
    settings = replace(Settings(), store=dsn, embedder="none", **changes)  # type: ignore[arg-type]
    return Keep.open("alice", home=home, settings=settings, background=False)


def refusal(home: Path, dsn: str) -> TruekeepError:
    with pytest.raises(TruekeepError) as caught:
        opened(home, dsn).close()
    assert caught.value.hint
    assert SECRET not in f"{caught.value!s} {caught.value.hint}"
    assert caught.value.__cause__ is None, "what the driver said may quote the connection string"
    return caught.value


@pytest.mark.parametrize(
    ("dsn", "code"),
    [
        ("mysql://somewhere", "store_dsn"),
        (f"postgresql://alice:{SECRET}@%%%/keeps", "store_dsn"),
        (f"postgresql://alice:{SECRET}@/keeps?host=/nowhere/at/all", "store_unavailable"),
        (f"postgresql://alice:{SECRET}@127.0.0.1:1/keeps", "store_unavailable"),
    ],
)
def test_a_wrong_connection_string_is_told_without_its_password(home: Path, dsn: str, code: str) -> None:
    assert refusal(home, dsn).code == code


def test_an_unknown_database_or_role_is_not_let_in(home: Path, server: Server) -> None:
    assert refusal(home, server.dsn("nothing_here", SERVICE)).code == "store_unavailable"
    assert refusal(home, server.dsn("postgres", "nobody_here")).code == "store_unavailable"


def test_a_database_without_the_tables_says_who_makes_them(home: Path, server: Server) -> None:
    error = refusal(home, server.dsn("postgres", SERVICE))
    assert error.code == "schema_too_old"
    assert "truekeep db migrate" in error.hint


def test_a_newer_schema_is_left_alone(home: Path, database: Database) -> None:
    database.run(f"INSERT INTO truekeep.migrations(version) VALUES ({len(MIGRATIONS) + 1})")
    assert refusal(home, database.dsn).code == "schema_too_new"
    with psycopg.connect(database.owner, autocommit=True) as connection, pytest.raises(TruekeepError) as caught:
        migrate(connection)
    assert caught.value.code == "schema_too_new"


def test_a_server_that_is_too_old_is_refused(home: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_lines, "OLDEST_SERVER", 990_000)
    assert refusal(home, database.dsn).code == "server_too_old"


def test_a_role_that_could_see_everything_is_refused(home: Path, server: Server, database: Database) -> None:
    assert refusal(home, database.owner).code == "role_bypasses_rls"
    server.run("CREATE ROLE seer LOGIN BYPASSRLS", "CREATE ROLE maker LOGIN")
    assert refusal(home, server.dsn(database.name, "seer")).code == "role_bypasses_rls"
    database.run("ALTER TABLE truekeep.events OWNER TO maker", "GRANT USAGE ON SCHEMA truekeep TO maker")
    assert refusal(home, server.dsn(database.name, "maker")).code == "role_owns_tables"


@pytest.mark.parametrize("switch", ["DISABLE", "NO FORCE"])
@pytest.mark.parametrize("table", ["sealed", "events", "keeps", "sealed_07"])
def test_row_security_that_was_switched_off_is_noticed(home: Path, database: Database, switch: str, table: str) -> None:
    database.run(f"ALTER TABLE truekeep.{table} {switch} ROW LEVEL SECURITY")
    assert refusal(home, database.dsn).code == "row_security_off"


def test_missing_rights_are_told(home: Path, database: Database) -> None:
    database.run(f"REVOKE INSERT ON truekeep.events FROM {SERVICE}")
    assert refusal(home, database.dsn).code == "store_rights_missing"


def test_a_database_that_takes_no_writes_still_answers(home: Path, database: Database) -> None:
    with opened(home, database.dsn) as keep:
        keep.remember("The cat is called Mia.", via="user")
    database.run(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
    forget_lines(database.dsn)
    with opened(home, database.dsn) as keep:
        assert keep.get_memories()
        with pytest.raises(TruekeepError) as caught:
            keep.remember("The dog is called Rex.", via="user")
    assert caught.value.code == "store_on_replica"


def test_a_full_disk_leaves_everything_as_it_was(home: Path, database: Database) -> None:
    fill = "CREATE FUNCTION filling() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE disk_full; END$$"
    with opened(home, database.dsn) as keep:
        keep.remember("The cat is called Mia.", via="user")
        database.run(
            fill, "CREATE TRIGGER filling BEFORE INSERT ON truekeep.events FOR EACH ROW EXECUTE FUNCTION filling()"
        )
        with pytest.raises(TruekeepError) as caught:
            keep.remember("The dog is called Rex.", via="user")
        assert caught.value.code == "store_full"
        database.run("DROP TRIGGER filling ON truekeep.events")
        assert len(keep.get_memories()) == 1
        assert keep.remember("The dog is called Rex.", via="user").accepted
        assert keep.audit.verify().ok


def test_a_server_that_was_restarted_is_found_again(home: Path, server: Server, database: Database) -> None:
    with opened(home, database.dsn) as keep:
        keep.remember("The cat is called Mia.", via="user")
        server.stop()
        try:
            with pytest.raises(StoreUnavailable):
                keep.get_memories()
        finally:
            server.start()
        assert len(keep.get_memories()) == 1
        assert keep.remember("The dog is called Rex.", via="user").accepted


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="tk-px-") as folder:
        made = Proxy(Path(folder), server.folder)
        yield made
        made.close()


@pytest.mark.parametrize(("cut", "is_written"), [("before", False), ("after", True)])
def test_a_connection_lost_in_a_commit_is_asked_about_by_the_events_hash(
    home: Path, database: Database, proxy: Proxy, cut: str, is_written: bool
) -> None:
    dsn = database.server.dsn(database.name, SERVICE, host=proxy.folder)
    with opened(home, dsn) as keep:
        keep.remember("The cat is called Mia.", via="user")
        proxy.cut = cut
        if is_written:
            assert keep.remember("The dog is called Rex.", via="user").accepted
        else:
            with pytest.raises(StoreUnavailable) as caught:
                keep.remember("The dog is called Rex.", via="user")
            assert caught.value.code == "not_committed"
        assert len(keep.get_memories()) == 1 + is_written
        assert keep.remember("The bird is called Pip.", via="user").accepted
        assert len(keep.get_memories()) == 2 + is_written
        assert keep.audit.verify().ok
    forget_lines(dsn)


@pytest.mark.parametrize("how", ["terminate", "cancel"])
def test_a_commit_that_no_longer_waits_for_its_standby_is_not_acknowledged_before_one_has_it(
    home: Path, database: Database, how: str
) -> None:
    waiting = f"FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = '{SERVICE}'"
    server = database.server
    with opened(home, database.dsn) as keep, ThreadPoolExecutor(1) as thread:
        server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
        try:
            write = thread.submit(keep.remember, "The cat is called Mia.", via="user")
            pid, begun = waiter(server, f"SELECT pid, xact_start {waiting}", write)
            server.run(f"SELECT pg_{how}_backend({pid})")
            waiter(server, f"SELECT pid, xact_start {waiting} AND xact_start > '{begun}'", write)
            assert not write.done(), "the server has it, and would lose it if it died now"
        finally:
            server.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
        assert write.result(30).accepted
        assert len(keep.get_memories()) == 1
        assert keep.audit.verify().ok


def waiter(server: Server, question: str, write: Future[Verdict]) -> tuple[int, datetime]:
    """The process that waits for a standby, and since when its transaction goes on."""
    for _ in range(2_000):
        if found := server.run(question):
            return found[0][0], found[0][1]
        assert not write.done(), "acknowledged, though no standby has it"
    raise AssertionError("nobody waits")


def test_a_server_that_stays_away_leaves_the_question_open_and_says_so(
    home: Path, database: Database, proxy: Proxy
) -> None:
    dsn = database.server.dsn(database.name, SERVICE, host=proxy.folder)
    with opened(home, dsn) as keep:
        keep.remember("The cat is called Mia.", via="user")
        proxy.cut = "after, for good"
        with pytest.raises(CommitUnknown) as caught:
            keep.remember("The dog is called Rex.", via="user")
        assert caught.value.code == "commit_unknown"
        proxy.refuses = False
        assert len(keep.get_memories()) == 2, "it was written, and the keep catches up with it"
        assert keep.audit.verify().ok
    forget_lines(dsn)
