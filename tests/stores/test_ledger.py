"""The ledger believes only what this keep wrote and still holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path

import apsw
import pytest

from tests.conftest import intruder
from truekeep.config import Paths
from truekeep.errors import KeepClosed, KeyUnavailable, StoreCorrupt, StoreTampered
from truekeep.stores.anchor import SIZE, AnchorHead, Anchors
from truekeep.stores.files import anchor_path, database_path, open_ledger
from truekeep.stores.keys import Keyring
from truekeep.stores.ledger import Ledger


def now() -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC)


def opened(home: Path, name: str = "alice") -> Ledger:
    return open_ledger(Paths.resolve(home), name, now)


def put(ledger: Ledger, *texts: str) -> None:
    for text in texts:
        with ledger.writing() as entry:
            entry.put("memories", f"mem_{text}", {"text": text})
            entry.event("test.put", text=text)


@pytest.fixture
def ledger(home: Path) -> Iterator[Ledger]:
    made = opened(home)
    put(made, "one", "two", "three")
    yield made
    made.close()


INSERT = "INSERT INTO memories(seq, id, tag, body, mac) VALUES (?, ?, '', ?, ?)"


def unverified(ledger: Ledger) -> list[str]:
    return [sealed.row.id for sealed in ledger.all("memories") if not sealed.verified]


def test_everything_verifies_after_writing_and_after_opening_again(home: Path, ledger: Ledger) -> None:
    assert ledger.verify().ok
    ledger.close()
    again = opened(home)
    assert again.verify() == ledger_result(events=4, rows=3)
    assert unverified(again) == []
    again.close()


def ledger_result(*, events: int, rows: int) -> object:
    from truekeep.types import Verification

    return Verification(True, events, rows)


EDITS: dict[str, str] = {
    "its content": "UPDATE memories SET body = '{\"text\":\"2\"}' WHERE id = 'mem_two'",
    "its content and its MAC": "UPDATE memories SET body = '{}', mac = zeroblob(32) WHERE id = 'mem_two'",
    "its identity": "UPDATE memories SET id = 'mem_other' WHERE id = 'mem_two'",
    "its place": "UPDATE memories SET seq = 77 WHERE id = 'mem_two'",
    "its tag": "UPDATE memories SET tag = 'x' WHERE id = 'mem_two'",
}


@pytest.mark.parametrize("edit", [name for name in EDITS if name != "its place"])
@pytest.mark.parametrize("while_open", [True, False], ids=["while open", "while closed"])
def test_an_edited_row_is_unverified_by_itself(home: Path, ledger: Ledger, edit: str, while_open: bool) -> None:
    if not while_open:
        ledger.close()
    with intruder(home) as connection:
        connection.execute(EDITS[edit])
    reader = ledger if while_open else opened(home)
    assert len(unverified(reader)) == 1
    assert len(reader.all("memories")) == 3
    result = reader.verify()
    assert not result.ok
    assert result.unverified == ("memories row 2",)
    reader.close()


def test_a_row_that_was_moved_is_missing_from_its_place(home: Path, ledger: Ledger) -> None:
    with intruder(home) as connection:
        connection.execute(EDITS["its place"])
    assert not ledger.verify().ok
    ledger.close()
    with pytest.raises(StoreTampered):
        opened(home)


def test_an_inserted_row_blinds_nobody(home: Path, ledger: Ledger) -> None:
    ledger.close()
    with intruder(home) as connection:
        connection.execute(INSERT, (50, "mem_evil", "{}", bytes(32)))
    reader = opened(home)
    assert unverified(reader) == ["mem_evil"]
    put(reader, "four")
    assert unverified(reader) == ["mem_evil"]
    reader.close()


def test_a_row_at_the_far_end_does_not_use_up_the_places(home: Path, ledger: Ledger) -> None:
    with intruder(home) as connection:
        connection.execute(INSERT, (9223372036854775807, "mem_evil", "{}", bytes(32)))
    put(ledger, "four")
    assert unverified(ledger) == ["mem_evil"]


@pytest.mark.parametrize("while_open", [True, False], ids=["while open", "while closed"])
def test_a_deleted_row_stops_every_read(home: Path, ledger: Ledger, while_open: bool) -> None:
    if not while_open:
        ledger.close()
    with intruder(home) as connection:
        connection.execute("DELETE FROM memories WHERE id = 'mem_two'")
    with pytest.raises(StoreTampered) as caught:
        (ledger if while_open else opened(home)).all("memories")
    assert caught.value.code == "rows_missing"


def test_an_old_genuine_row_put_back_is_not_believed(home: Path, ledger: Ledger) -> None:
    sealed = ledger.get("memories", "mem_two")
    assert sealed
    with ledger.writing() as entry:
        entry.replace("memories", sealed.row, {"text": "two, corrected"})
        entry.event("test.corrected")
    old = sealed.row
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET body = ?, mac = ? WHERE seq = ?", (old.body, old.mac, old.seq))
    assert unverified(ledger) == ["mem_two"]
    ledger.close()
    again = opened(home)
    assert unverified(again) == ["mem_two"]
    again.close()


def test_a_removed_row_put_back_is_not_believed(home: Path, ledger: Ledger) -> None:
    sealed = ledger.get("memories", "mem_two")
    assert sealed
    with ledger.writing() as entry:
        entry.remove("memories", sealed.row)
        entry.event("test.removed")
    row = sealed.row
    with intruder(home) as connection:
        connection.execute(INSERT, (row.seq, row.id, row.body, row.mac))
    assert unverified(ledger) == ["mem_two"]
    ledger.close()
    again = opened(home)
    assert unverified(again) == ["mem_two"]
    again.close()


CHAIN: dict[str, str] = {
    "edited": "UPDATE events SET body = '{}' WHERE seq = 3",
    "re-dated": "UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = 3",
    "a gap": "DELETE FROM events WHERE seq = 3",
    "reordered": "UPDATE events SET seq = CASE seq WHEN 2 THEN -1 ELSE seq END;"
    "UPDATE events SET seq = 2 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = -1;",
    "a cut tail": "DELETE FROM events WHERE seq = 4",
    "emptied": "DELETE FROM events",
    "an extra event": "INSERT INTO events VALUES (5, '2026-01-01', 'x', '{}', zeroblob(32), zeroblob(32))",
    "its set sum": "UPDATE events SET state = zeroblob(32) WHERE seq = 4",
}


@pytest.mark.parametrize("edit", CHAIN)
def test_a_damaged_chain_stops_every_read(home: Path, ledger: Ledger, edit: str) -> None:
    ledger.close()
    with intruder(home) as connection:
        connection.execute(CHAIN[edit])
    with pytest.raises(StoreTampered) as caught:
        opened(home)
    assert caught.value.hint


@pytest.mark.parametrize("edit", ["a cut tail", "emptied", "an extra event"])
def test_a_chain_damaged_while_open_stops_the_next_read(home: Path, ledger: Ledger, edit: str) -> None:
    with intruder(home) as connection:
        connection.execute(CHAIN[edit])
    with pytest.raises(StoreTampered):
        ledger.all("memories")


def copies(home: Path) -> list[Path]:
    return list(Paths.resolve(home).data.iterdir())


def test_a_restored_old_copy_of_the_whole_store_is_refused(home: Path, ledger: Ledger, tmp_path: Path) -> None:
    ledger.close()
    backup = tmp_path / "backup"
    shutil.copytree(Paths.resolve(home).data, backup)
    newer = opened(home)
    put(newer, "four")
    newer.close()
    shutil.rmtree(Paths.resolve(home).data)
    shutil.copytree(backup, Paths.resolve(home).data)
    with pytest.raises(StoreTampered) as caught:
        opened(home)
    assert caught.value.code == "store_rolled_back"


def test_a_store_that_continued_from_an_old_copy_is_refused(home: Path, ledger: Ledger, tmp_path: Path) -> None:
    """The copy went on elsewhere with the same keys: longer than the anchor, but another history."""
    ledger.close()
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(home, elsewhere)
    put(real := opened(home), "four")
    real.close()
    put(other := opened(elsewhere), "five", "six")
    other.close()
    shutil.rmtree(Paths.resolve(home).data)
    shutil.copytree(Paths.resolve(elsewhere).data, Paths.resolve(home).data)
    with pytest.raises(StoreTampered) as caught:
        opened(home)
    assert caught.value.code == "store_diverged"


def test_a_store_whose_file_is_gone_is_not_quietly_made_anew(home: Path, ledger: Ledger) -> None:
    ledger.close()
    shutil.rmtree(Paths.resolve(home).data)
    with pytest.raises(StoreTampered) as caught:
        opened(home)
    assert caught.value.code == "store_missing"


def test_a_store_whose_file_was_emptied_is_not_quietly_made_anew(home: Path, ledger: Ledger) -> None:
    ledger.close()
    database_path(Paths.resolve(home), "alice").write_bytes(b"")
    with pytest.raises(StoreCorrupt):
        opened(home)


def test_a_crash_right_after_the_key_was_made_heals_itself(home: Path) -> None:
    Keyring(Paths.resolve(home).keys).create("alice")
    made = opened(home)
    put(made, "one")
    made.close()
    again = opened(home)
    assert [sealed.row.id for sealed in again.all("memories")] == ["mem_one"]
    assert again.verify().ok
    again.close()


def test_a_missing_anchor_is_refused(home: Path, ledger: Ledger) -> None:
    ledger.close()
    anchor_path(Paths.resolve(home), "alice").unlink()
    with pytest.raises(StoreTampered) as caught:
        opened(home)
    assert caught.value.code == "anchor_missing"


def test_a_crash_between_commit_and_anchor_heals_itself(home: Path, ledger: Ledger) -> None:
    anchor = anchor_path(Paths.resolve(home), "alice")
    before = anchor.read_bytes()
    put(ledger, "four")
    ledger.close()
    anchor.write_bytes(before)
    again = opened(home)
    assert len(again.all("memories")) == 4
    assert again.head.seq == 5
    again.close()
    assert anchor.read_bytes() != before


@pytest.mark.parametrize("slot", [0, 1])
def test_a_torn_anchor_slot_leaves_the_other(home: Path, ledger: Ledger, slot: int) -> None:
    ledger.close()
    anchor = anchor_path(Paths.resolve(home), "alice")
    data = bytearray(anchor.read_bytes())
    data[slot * SIZE + 20] ^= 0xFF
    anchor.write_bytes(bytes(data))
    again = opened(home)
    assert len(again.all("memories")) == 3
    again.close()


def test_the_anchor_never_moves_back(home: Path, ledger: Ledger) -> None:
    head = ledger.head
    ledger._verified.anchors.advance(AnchorHead(head.seq - 1, b"\1" * 32))
    assert ledger._verified.anchors.newest() == head


def test_a_row_of_another_keep_is_not_believed(home: Path, ledger: Ledger) -> None:
    bob = opened(home, "bob")
    put(bob, "bob's")
    sealed = bob.get("memories", "mem_bob's")
    assert sealed
    row = sealed.row
    with intruder(home) as connection:
        connection.execute(INSERT, (60, row.id, row.body, row.mac))
    assert unverified(ledger) == ["mem_bob's"]
    bob.close()


def test_a_keys_file_under_another_keeps_name_does_not_open(home: Path, ledger: Ledger) -> None:
    bob = opened(home, "bob")
    bob.close()
    keys = Paths.resolve(home).keys / "keeps"
    shutil.copy(keys / "alice.key", keys / "bob.key")
    with pytest.raises(KeyUnavailable):
        opened(home, "bob")


def test_a_database_without_its_key_is_refused_and_left_alone(home: Path, ledger: Ledger) -> None:
    ledger.close()
    paths = Paths.resolve(home)
    before = database_path(paths, "alice").read_bytes()
    (paths.keys / "keeps" / "alice.key").unlink()
    with pytest.raises(KeyUnavailable) as caught:
        opened(home)
    assert caught.value.code == "key_missing"
    assert database_path(paths, "alice").read_bytes() == before


def test_a_wrong_master_key_is_a_clear_error(home: Path, ledger: Ledger, tmp_path: Path) -> None:
    ledger.close()
    opened(tmp_path / "other").close()
    shutil.copy(tmp_path / "other" / "keys" / "master.key", home / "keys" / "master.key")
    with pytest.raises(KeyUnavailable) as caught:
        opened(home)
    assert caught.value.code == "wrong_key"


def test_keys_are_private_and_apart_from_data(home: Path, ledger: Ledger) -> None:
    paths = Paths.resolve(home)
    files = [path for path in paths.keys.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"master.key", "alice.key", "alice.anchor", ".lock"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert paths.keys.stat().st_mode & 0o077 == 0


def test_keys_never_show_in_a_representation(home: Path, ledger: Ledger) -> None:
    keys = Keyring(Paths.resolve(home).keys).open("alice")
    for shown in (repr(keys), repr(keys.epochs), repr(Keyring(Paths.resolve(home).keys).secret("alice"))):
        assert keys.epochs[0].mac.hex() not in shown
        assert str(keys.epochs[0].mac) not in shown


def test_a_failed_transaction_leaves_rows_chain_and_anchor_as_they_were(home: Path, ledger: Ledger) -> None:
    head, anchored = ledger.head, ledger._verified.anchors.newest()
    with pytest.raises(RuntimeError), ledger.writing() as entry:
        entry.put("memories", "mem_four", {"text": "four"})
        entry.event("test.put")
        raise RuntimeError
    assert ledger.head == head
    assert ledger._verified.anchors.newest() == anchored
    assert ledger.verify().ok


def test_a_change_without_an_event_is_impossible(ledger: Ledger) -> None:
    with pytest.raises(AssertionError), ledger.writing() as entry:
        entry.put("memories", "mem_four", {"text": "four"})
    assert len(ledger.all("memories")) == 3


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    calls: list[Callable[[], object]] = [
        lambda: ledger.all("memories"),
        lambda: ledger.all("memories"),
        ledger.verify,
        ledger.writing().__enter__,
    ]
    for call in calls:
        with pytest.raises(KeepClosed):
            call()


def test_two_ledgers_on_one_keep_see_each_others_writes(home: Path, ledger: Ledger) -> None:
    other = opened(home)
    put(other, "four")
    assert len(ledger.all("memories")) == 4
    put(ledger, "five")
    assert len(other.all("memories")) == 5
    assert ledger.verify().ok
    assert other.verify().ok
    other.close()


def test_the_visible_sums_do_not_reveal_a_rows_share(home: Path, ledger: Ledger) -> None:
    """Without the mask, the difference of two events' sums would be the term of the row between them."""
    with intruder(home) as connection:
        states = [int.from_bytes(state, "big") for (state,) in connection.execute("SELECT state FROM events")]
        macs = [mac for (mac,) in connection.execute("SELECT mac FROM memories ORDER BY seq")]
    differences = {(after - before) % (1 << 256) for before, after in pairwise(states)}
    assert differences.isdisjoint({ledger._seal.term(mac) for mac in macs})


def test_an_apsw_error_never_escapes(home: Path, ledger: Ledger) -> None:
    with intruder(home) as connection:
        connection.execute("DROP TABLE queue")
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the point is which family it is not of
        ledger.all("queue")
    assert not isinstance(caught.value, apsw.Error)


def test_what_opening_read_is_handed_on_once_and_never_after_a_change(home: Path, ledger: Ledger) -> None:
    ledger.close()
    for change in (False, True):
        again = opened(home)
        if change:
            sealed = again.get("memories", "mem_two")
            assert sealed
            with again.writing() as entry:
                entry.replace("memories", sealed.row, {"text": "two, corrected"})
                entry.event("test.corrected")
        bodies = [[row.body for row in again.current("memories")] for _ in range(2)]
        assert bodies[0] == bodies[1] == [row.row.body for row in again.all("memories")]
        assert ("corrected" in str(bodies)) == change
        again.close()


def test_a_change_by_another_process_after_opening_is_not_missed(home: Path, ledger: Ledger) -> None:
    ledger.close()
    again = opened(home)
    put(other := opened(home), "four")
    other.close()
    assert len(list(again.current("memories"))) == 4
    with intruder(home) as connection:
        connection.execute("UPDATE memories SET body = '{}' WHERE seq = 1")
    assert len(list(again.current("memories"))) == 3
    again.close()


def test_a_name_whose_row_another_process_took_away_overwrites_nothing_that_is_there_now(home: Path) -> None:
    """A place is given out again once its row is gone, and this process still remembers who stood there."""
    with closing(opened(home)) as one, closing(opened(home)) as other:
        with one.writing() as entry:
            entry.put("sessions", "first", {"of": "first"})
            entry.event("test.put")
        assert other.get("sessions", "first") is not None
        with one.writing() as entry:
            known = one.get("sessions", "first")
            assert known is not None
            entry.remove("sessions", known.row)
            entry.put("sessions", "second", {"of": "second"})
            entry.event("test.put")
        with other.writing() as entry:
            entry.set("sessions", "first", {"of": "first again"})
            entry.event("test.put")
        assert [(sealed.row.id, sealed.verified) for sealed in other.all("sessions")] == [
            ("second", True),
            ("first", True),
        ]
        assert other.verify().ok


class AnchorsInABusyKeep(Anchors):
    """The anchors of a keep in which somebody writes whenever they are read."""

    def __init__(self, anchors: Anchors, write: Callable[[], None]) -> None:
        super().__init__(anchors.all)
        self._write = write

    def heads(self) -> list[tuple[str, AnchorHead | None]]:
        self._write()
        return super().heads()


def test_what_another_process_anchors_after_a_view_began_is_no_rollback(home: Path, ledger: Ledger) -> None:
    busy, number = opened(home), count()
    with closing(opened(home)) as other:
        verified = busy._verified
        verified.anchors = AnchorsInABusyKeep(verified.anchors, lambda: put(other, f"more {next(number)}"))
        for _ in range(5):
            put(other, f"more {next(number)}")
            verified.due = 0.0
            assert len(busy.all("memories")) > 3
        assert busy.verify().ok
    busy.close()
