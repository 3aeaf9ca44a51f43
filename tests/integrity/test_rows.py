"""Rows altered or put back behind the keep's back: blocked alone, or nothing is served where that would allow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import Clock, intruder
from truekeep import Keep
from truekeep.config import Paths
from truekeep.errors import StoreTampered
from truekeep.stores.base import RESTRICTING, TABLES, Row
from truekeep.stores.files import open_ledger
from truekeep.stores.ledger import Ledger

pytestmark = pytest.mark.slow

OTHERS = sorted(set(TABLES) - RESTRICTING)
MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def opened(home: Path) -> Ledger:
    return open_ledger(Paths.resolve(home), "alice", lambda: MOMENT)


@pytest.fixture
def ledger(home: Path) -> Iterator[Ledger]:
    """A row of each kind, of which the first is replaced and the second removed."""
    made = opened(home)
    for table in TABLES:
        with made.writing() as entry:
            for name in ("changed", "removed", "kept"):
                entry.put(table, name, {"v": 1, "says": name}, tag="t")
            entry.event("test.put")
    yield made
    made.close()


def changed(ledger: Ledger, table: str) -> dict[str, Row]:
    """Change and remove rows; returns them as they were."""
    old = {sealed.row.id: sealed.row for sealed in ledger.all(table)}
    with ledger.writing() as entry:
        entry.replace(table, old["changed"], {"v": 1, "says": "something else"}, tag="t")
        entry.remove(table, old["removed"])
        entry.event("test.changed")
    return old


def put_back(home: Path, table: str, row: Row) -> None:
    with intruder(home) as connection:
        connection.execute(
            f"INSERT OR REPLACE INTO {table}(seq, id, tag, body, mac) VALUES (?, ?, ?, ?, ?)",
            (row.seq, row.id, row.tag, row.body, row.mac),
        )


WHILE = pytest.mark.parametrize("while_open", [True, False], ids=["while open", "while closed"])


@WHILE
@pytest.mark.parametrize("table", OTHERS)
def test_an_old_genuine_row_put_back_is_not_believed(home: Path, ledger: Ledger, table: str, while_open: bool) -> None:
    old = changed(ledger, table)
    if not while_open:
        ledger.close()
    put_back(home, table, old["changed"])
    put_back(home, table, old["removed"])
    reader = ledger if while_open else opened(home)
    assert {sealed.row.id: sealed.verified for sealed in reader.all(table)} == {
        "changed": False,
        "removed": False,
        "kept": True,
    }
    assert not reader.verify().ok
    reader.close()


@WHILE
@pytest.mark.parametrize("table", sorted(RESTRICTING))
def test_an_old_genuine_restriction_put_back_stops_every_read(
    home: Path, ledger: Ledger, table: str, while_open: bool
) -> None:
    old = changed(ledger, table)
    if not while_open:
        ledger.close()
    put_back(home, table, old["changed"])
    with pytest.raises(StoreTampered) as caught:
        (ledger if while_open else opened(home)).all("memories")
    assert caught.value.code == "rows_altered"


@WHILE
@pytest.mark.parametrize("table", sorted(RESTRICTING))
def test_a_removed_restriction_put_back_is_no_row(home: Path, ledger: Ledger, table: str, while_open: bool) -> None:
    """A tombstone that was lifted does not come back to life, and costs nobody anything."""
    old = changed(ledger, table)
    if not while_open:
        ledger.close()
    put_back(home, table, old["removed"])
    reader = ledger if while_open else opened(home)
    assert [sealed.row.id for sealed in reader.all(table)] == ["changed", "kept"]
    assert reader.get(table, "removed") is None
    assert reader.tagged(table, "t", 9) == reader.all(table)
    assert not reader.verify().ok
    with reader.writing() as entry:
        entry.put(table, "removed", {"v": 1, "says": "again"})
        entry.event("test.put")
    assert reader.get(table, "removed") is not None
    assert reader.verify().ok
    reader.close()


EDITS = {
    "its content": "UPDATE {table} SET body = '{{}}' WHERE id = 'kept'",
    "its identity": "UPDATE {table} SET id = 'other' WHERE id = 'kept'",
    "its tag": "UPDATE {table} SET tag = '' WHERE id = 'kept'",
    "its MAC": "UPDATE {table} SET mac = zeroblob(32) WHERE id = 'kept'",
    "its MAC's length": "UPDATE {table} SET mac = x'' WHERE id = 'kept'",
}


@WHILE
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("table", sorted(RESTRICTING))
def test_an_edited_restriction_stops_every_read_and_says_why(
    home: Path, ledger: Ledger, table: str, edit: str, while_open: bool
) -> None:
    seq = ledger.all(table)[-1].row.seq
    if not while_open:
        ledger.close()
    with intruder(home) as connection:
        connection.execute(EDITS[edit].format(table=table))
    for _ in range(2):
        with pytest.raises(StoreTampered) as caught:
            (ledger if while_open else opened(home)).get("memories", "kept")
    error = caught.value
    assert error.code == "rows_altered"
    assert error.where == f"{table} row {seq}"
    assert error.since.startswith("after event ")
    assert error.since.endswith("2026-03-01T12:00:00.000000Z")
    assert "truekeep audit accept" in error.hint
    assert error.as_dict()["where"] == error.where


def test_a_tombstone_cannot_be_edited_away(home: Path, keep: Keep) -> None:
    held = keep.remember("The landlord's new account is 9904-71.", via="email")
    assert held.item_id
    keep.review.reject(held.item_id, by="eva", reason="not hers")
    keep.close()
    with intruder(home) as connection:
        connection.execute("UPDATE tombstones SET id = 'nothing ' || seq")
    with pytest.raises(StoreTampered):
        Keep.open("alice", home=home)


def test_a_taint_cannot_be_edited_away(home: Path, clock: Clock) -> None:
    """Renaming the session's row would let the host declare it anew, and clean."""
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        keep.session("s-1", mediated=True).observe("web", "Northwind moved to Nitra.", principal="https://a.example")
        with intruder(home) as connection:
            connection.execute("UPDATE sessions SET id = 's-2' WHERE id = 's-1'")
        with pytest.raises(StoreTampered):
            keep.session("s-1", mediated=True)


def test_a_vector_or_card_that_was_edited_hides_nothing(home: Path, keep: Keep) -> None:
    keep.remember("The spare key is with Mrs Horvat.", via="user")
    keep.close()
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET card = zeroblob(40)")
    with Keep.open("alice", home=home) as again:
        assert [hit.text for hit in again.recall("spare key")] == ["The spare key is with Mrs Horvat."]
        assert not again.audit.verify().ok


def test_a_card_of_another_memory_does_not_answer_for_it(home: Path, keep: Keep) -> None:
    keep.remember("The spare key is with Mrs Horvat.", via="user")
    keep.remember("The boiler was serviced in May.", via="user")
    keep.close()
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET card = (SELECT card FROM memories WHERE seq = 2) WHERE seq = 1")
    with Keep.open("alice", home=home) as again:
        assert [hit.text for hit in again.recall("spare key")] == ["The spare key is with Mrs Horvat."]


def test_a_full_check_is_made_when_nothing_explains_a_change(home: Path, ledger: Ledger) -> None:
    """An edit alone moves the file's change counter, and no event accounts for it."""
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET body = '{}' WHERE id = 'kept'")
    assert not ledger._verified.found.altered
    ledger.all("queue")
    assert ledger.has_altered("memories")


def test_an_edit_in_the_shadow_of_an_honest_write_is_found_in_time(home: Path, ledger: Ledger) -> None:
    """The event of another process explains the change; now and then everything is looked at all the same."""
    other = opened(home)
    with other.writing() as entry:
        entry.event("test.honest")
    with intruder(home) as connection:
        connection.execute("UPDATE marks SET id = 'gone' WHERE id = 'kept'")
    ledger._verified.due = 0.0
    with pytest.raises(StoreTampered):
        ledger.get("marks", "kept")
    other.close()


def test_a_snapshot_that_was_renamed_is_not_quietly_made_anew(home: Path, keep: Keep) -> None:
    keep.remember("The office is in Nitra.", via="user")
    keep.snapshot("s-1")
    with intruder(home) as connection:
        connection.execute("UPDATE snapshots SET id = 's-2'")
    with pytest.raises(StoreTampered) as caught:
        keep.snapshot("s-1")
    assert caught.value.code == "snapshot_unverified"
    assert keep.snapshot("s-1", refresh=True).text


def test_strangers_under_the_ids_to_come_stop_no_decision(home: Path, keep: Keep) -> None:
    """Whoever holds the file's key can guess the ids of notes and versions; a forged row must not be in the way."""
    stored = keep.remember("The office is in Nitra.", via="user").memory_id
    with intruder(home) as connection:
        ids = [("notes", str(number)) for number in range(2, 9)] + [("history", f"{stored}.1")]
        for seq, (table, row_id) in enumerate(ids, 700):
            forged = (seq, row_id, "", "{}", bytes(48))
            connection.execute(f"INSERT INTO {table}(seq, id, tag, body, mac) VALUES (?, ?, ?, ?, ?)", forged)
    assert stored
    assert keep.delete_memory(stored, via="user", reason="it moved").code == "deleted"
    assert keep.get_memories() == []
    with Keep.open("alice", home=home) as again:
        assert again.restore(stored, via="user").accepted
