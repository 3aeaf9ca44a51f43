"""What the processes of a service share: nobody who only has the database can read it, forge it or turn it back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.postgres.hosts import ANCHOR, MASTER, environment
from tests.postgres.server import Database, Server
from truekeep.cli import main
from truekeep.config import Paths, Settings
from truekeep.errors import ConfigError, NotAuthenticated, StoreTampered
from truekeep.serve.shelf import shelf_of
from truekeep.serve.tokens import TokenBook
from truekeep.stores.postgres_service import SharedState
from truekeep.stores.rotation import rotate_master

TABLE = "truekeep.service"
Book = Callable[..., TokenBook]


@pytest.fixture(autouse=True)
def _told(database: Database, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(database, server.database()).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def state(tmp_path: Path) -> Callable[..., SharedState]:
    def made(home: str = "one") -> SharedState:
        return SharedState(Paths.resolve(tmp_path / home), Settings.load(tmp_path / home))

    return made


@pytest.fixture
def book(tmp_path: Path) -> Book:
    def made(home: str = "one") -> TokenBook:
        return TokenBook(shelf_of(Paths.resolve(tmp_path / home), Settings.load(tmp_path / home)))

    return made


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


def test_the_database_shows_neither_who_has_a_token_nor_for_what(book: Book, database: Database) -> None:
    secret, token = book().add("payroll", "user", ["read"], subject="eva")
    (box,) = database.run(f"SELECT box FROM {TABLE} WHERE name = 'tokens'")[0]
    for hidden in (secret, token.id, token.hash, "payroll", "eva"):
        assert hidden.encode() not in bytes(box)


@pytest.mark.parametrize(
    "forged",
    [
        "box = set_byte(box, 30, get_byte(box, 30) # 1)",
        """box = '{"tokens": [], "version": 1}'""",
        "version = version + 1",
        "box = ''",
    ],
)
def test_what_somebody_put_into_the_database_counts_for_nothing(book: Book, database: Database, forged: str) -> None:
    secret, _ = book().add("alice", "user", ["read"])
    database.run(f"UPDATE {TABLE} SET {forged} WHERE name = 'tokens'")
    for home in ("one", "other"):
        with pytest.raises(StoreTampered) as refused:
            book(home).identify(secret)
        assert refused.value.code == "service_state_tampered"


def test_one_book_does_not_open_in_the_place_of_another(
    book: Book, state: Callable[..., SharedState], database: Database
) -> None:
    book().add("alice", "user", ["read"])
    copied = f"SELECT 'console', version, box FROM {TABLE} WHERE name = 'tokens'"
    database.run(f"INSERT INTO {TABLE}(name, version, box) {copied}")
    assert state().book("tokens") is not None
    with pytest.raises(StoreTampered):
        state().book("console")


def test_an_older_book_in_which_a_revoked_token_counts_is_refused_until_a_person_accepts_it(
    book: Book, database: Database, tmp_path: Path
) -> None:
    kept = book()
    secret, token = kept.add("alice", "user", ["read"])
    version, box = database.run(f"SELECT version, box FROM {TABLE} WHERE name = 'tokens'")[0]
    kept.revoke(token.id)
    database.run(f"UPDATE {TABLE} SET version = {version}, box = '\\x{bytes(box).hex()}' WHERE name = 'tokens'")
    for looking in (kept, book("other")):
        with pytest.raises(StoreTampered) as refused:
            looking.identify(secret)
        assert refused.value.code == "service_state_rolled_back"
    assert run("tokens", "accept", "--home", str(tmp_path / "one")) == 0
    assert book("other").identify(secret).token_id == token.id, "which is why it took a person"
    kept.revoke(token.id)
    with pytest.raises(NotAuthenticated):
        book("other").identify(secret)
    assert run("tokens", "accept", "--home", str(tmp_path / "one")) == 0


def test_a_book_that_was_taken_away_goes_on_after_what_was_anchored(book: Book, database: Database) -> None:
    secret, _ = book().add("alice", "user", ["read"])
    database.run(f"DELETE FROM {TABLE} WHERE name = 'tokens'")
    with pytest.raises(NotAuthenticated):
        book("other").identify(secret)
    anew, _ = book("other").add("alice", "user", ["read"])
    assert book().identify(anew)
    with pytest.raises(NotAuthenticated):
        book().identify(secret)


def test_tokens_outlive_a_rotation_of_the_master_key(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, _ = book().add("alice", "user", ["read"])
    served = book("other")
    assert served.identify(secret)
    monkeypatch.setenv("NEXT_MASTER", "ab" * 32)
    rotate_master(Paths.resolve(tmp_path / "one"), Settings.load(tmp_path / "one"), to="env:NEXT_MASTER")
    assert served.identify(secret), "whoever serves meanwhile goes on"
    monkeypatch.setenv(MASTER, "ab" * 32)
    assert book("other").identify(secret)


def test_one_process_at_a_time_has_a_lease_and_the_next_gets_it_when_it_ends(
    state: Callable[..., SharedState], database: Database
) -> None:
    processes = [state(), state("other"), state()]
    with ThreadPoolExecutor(3) as threads:
        got = list(threads.map(lambda one: one.lease("chores", 60.0), processes * 5))
    assert sum(got) == 5
    mine = processes[got.index(True) % 3]
    others = [one for one in processes if one is not mine]
    assert mine.lease("chores", 60.0), "whoever has it goes on"
    assert not any(one.lease("chores", 60.0) for one in others)
    mine.end_leases()
    assert others[0].lease("chores", 60.0)
    database.run(f"UPDATE {TABLE} SET at = now() - interval '1 second' WHERE name = 'lease:chores'")
    assert mine.lease("chores", 60.0), "what died is waited for no longer than its time"


def test_answers_are_sealed_found_by_all_and_dropped_with_what_was_erased(
    state: Callable[..., SharedState], database: Database
) -> None:
    one, other = state(), state("other")
    one.keep_answer("alice", "k", b"the safe opens with 4711")
    one.keep_answer("bob", "k", b"another")
    assert other.answer("alice", "k") == b"the safe opens with 4711"
    assert other.answer("alice", "another") is None
    for name, box in database.run(f"SELECT name, box FROM {TABLE} WHERE name LIKE 'answer:%'"):
        assert b"4711" not in bytes(box)
        assert "alice" not in name
    other.drop_answers("alice")
    assert (one.answer("alice", "k"), one.answer("bob", "k")) == (None, b"another")
    database.run(f"UPDATE {TABLE} SET at = now() - interval '25 hours' WHERE name LIKE 'answer:%'")
    assert one.answer("bob", "k") is None, "after a day a client asks anew"
    one.drop_answers()
    assert database.run(f"SELECT count(*) FROM {TABLE} WHERE name LIKE 'answer:%'") == [(0,)]


def test_without_the_anchor_nothing_is_believed(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, _ = book().add("alice", "user", ["read"])
    monkeypatch.delenv(ANCHOR)
    with pytest.raises(ConfigError):
        book().identify(secret)
