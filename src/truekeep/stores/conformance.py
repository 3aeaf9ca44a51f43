"""The conformance suite: what every backend must do. Subclass it in a test module and say how to open one.

::

    class TestMyBackend(BackendConformance):
        def open(self, place: Path) -> Backend: ...

``place`` is an empty directory; opening the same place again must give the same database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from truekeep.stores.base import CARDED, TABLES, Backend, EventRow, Row


class BackendConformance(ABC):
    """One test for each thing the ledger relies on."""

    scrubs = True
    """Whether the backend itself takes the bytes of removed rows away; a server's vacuum may have to."""

    @abstractmethod
    def open(self, place: Path) -> Backend:
        """Open or create the database at that place."""

    @contextmanager
    def opened(self, place: Path) -> Iterator[Backend]:
        """A backend that is closed afterwards."""
        backend = self.open(place)
        try:
            yield backend
        finally:
            backend.close()

    @pytest.mark.parametrize("table", TABLES)
    def test_a_row_comes_back_as_it_was_written(self, tmp_path: Path, table: str) -> None:
        """Text of any script, empty tags and every byte of the MAC survive."""
        row = Row(1, "mem_1", "", 'žluťoučký кот 記憶 \u0000 "quoted"', bytes(range(32)))
        with self.opened(tmp_path) as backend:
            with backend.writing():
                backend.insert(table, row)
            assert backend.by_id(table, "mem_1") == row
            assert backend.by_seqs(table, [1, 2]) == [row]
            assert list(backend.rows(table)) == [row]
            assert list(backend.rows(table, cards=True)) == backend.by_seqs(table, [1], cards=True) == [row]

    @pytest.mark.parametrize("table", CARDED)
    def test_an_index_card_is_stored_with_its_row_and_read_when_asked_for(self, tmp_path: Path, table: str) -> None:
        """Every byte of it; replacing the row replaces the card."""
        row = _row(1)._replace(card=bytes(range(256)))
        with self.opened(tmp_path) as backend:
            with backend.writing():
                backend.insert(table, row)
            assert list(backend.rows(table, cards=True)) == backend.by_seqs(table, [1], cards=True) == [row]
            assert list(backend.rows(table)) == backend.by_seqs(table, [1]) == [row._replace(card=None)]
            with backend.writing():
                backend.replace(table, row._replace(card=None))
            assert backend.by_seqs(table, [1], cards=True) == [row._replace(card=None)]

    def test_what_was_committed_is_there_after_opening_again(self, tmp_path: Path) -> None:
        """Committed means durable."""
        with self.opened(tmp_path) as backend, backend.writing():
            backend.insert("memories", _row(1))
            backend.append(_event(1))
        with self.opened(tmp_path) as backend:
            assert backend.count("memories") == 1
            assert backend.last_event() == _event(1)

    def test_a_failed_transaction_leaves_nothing(self, tmp_path: Path) -> None:
        """All or nothing: rows and events together."""
        with self.opened(tmp_path) as backend:
            with pytest.raises(RuntimeError), backend.writing():
                backend.insert("memories", _row(1))
                backend.append(_event(1))
                raise RuntimeError
            assert backend.count("memories") == 0
            assert backend.last_event() is None

    def test_rows_are_replaced_and_removed_by_place(self, tmp_path: Path) -> None:
        """Identity is the place."""
        newer = Row(1, "mem_1", "t", "newer", b"\2" * 32)
        with self.opened(tmp_path) as backend:
            with backend.writing():
                backend.insert("queue", _row(1))
                backend.insert("queue", _row(2))
                backend.replace("queue", newer)
                backend.remove("queue", 2)
            assert list(backend.rows("queue")) == [newer]

    def test_places_count_on_and_rows_come_in_their_order(self, tmp_path: Path) -> None:
        """Paging by place sees every row once."""
        with self.opened(tmp_path) as backend:
            with backend.writing():
                for _ in range(5):
                    backend.insert("memories", _row(backend.next_seq("memories")))
            assert [row.seq for row in backend.rows("memories")] == [1, 2, 3, 4, 5]
            assert [row.seq for row in backend.rows("memories", after=2, limit=2)] == [3, 4]

    def test_events_are_read_in_order(self, tmp_path: Path) -> None:
        """The chain can be walked from any link."""
        with self.opened(tmp_path) as backend:
            with backend.writing():
                for seq in (1, 2, 3):
                    backend.append(_event(seq))
            assert [event.seq for event in backend.events(after=1)] == [2, 3]
            assert backend.event(2) == _event(2)
            with backend.writing():
                backend.restate(_event(2)._replace(body="{}", hash=b""))
            assert backend.event(2) == _event(2)._replace(body="{}")
            assert backend.event(9) is None

    def test_another_connection_sees_commits_and_notices_changes(self, tmp_path: Path) -> None:
        """What one writes the other sees, and its change counter moves; one's own commits do not move it."""
        with self.opened(tmp_path) as first, self.opened(tmp_path) as second:
            before, own = second.changes(), first.changes()
            with first.writing():
                first.insert("memories", _row(1))
            assert second.count("memories") == 1
            assert second.changes() != before
            assert first.changes() == own

    def test_a_glance_gives_rows_only_while_nothing_has_changed(self, tmp_path: Path) -> None:
        """Neither another's commit nor another end of the chain goes unnoticed; one's own commits are no change."""
        with self.opened(tmp_path) as first, self.opened(tmp_path) as second:
            assert first.glance(first.changes(), 0, b"", "memories", [1]) == []
            with first.writing():
                first.insert("memories", _row(1))
                first.append(_event(1))
            known = first.changes(), 1, _event(1).hash
            assert first.glance(*known, "memories", [2, 1]) == [_row(1)]
            assert first.glance(*known, "memories", []) == []
            assert first.glance(known[0], 1, b"\4" * 32, "memories", [1]) is None
            assert first.glance(known[0], 2, known[2], "memories", [1]) is None
            with second.writing():
                second.remove("memories", 1)
            assert first.glance(*known, "memories", [1]) is None

    def test_a_reading_is_one_consistent_view(self, tmp_path: Path) -> None:
        """What commits meanwhile is seen only afterwards."""
        with self.opened(tmp_path) as reader, self.opened(tmp_path) as writer:
            with reader.reading():
                assert reader.count("memories") == 0
                with writer.writing():
                    writer.insert("memories", _row(1))
                assert reader.count("memories") == 0
            assert reader.count("memories") == 1

    @pytest.mark.parametrize("table", TABLES)
    def test_its_indexes_agree_with_its_rows(self, tmp_path: Path, table: str) -> None:
        """Nothing is there that a lookup would not find; making the index anew changes nothing."""
        with self.opened(tmp_path) as backend:
            with backend.writing():
                backend.insert(table, _row(1))
            assert backend.has_sound_index(table)
            with backend.writing():
                backend.rebuild_index(table)
            assert backend.has_sound_index(table)
            assert backend.by_id(table, "mem_1") == _row(1)

    def test_scrubbing_keeps_what_is_there(self, tmp_path: Path) -> None:
        """Removed rows leave nothing; the others stay in their places."""
        with self.opened(tmp_path) as backend:
            with backend.writing():
                backend.insert("history", _row(1))
                backend.insert("history", _row(2))
                backend.remove("history", 1)
            assert backend.scrub() is self.scrubs
            assert list(backend.rows("history")) == [_row(2)]

    def test_it_says_what_it_is(self, tmp_path: Path) -> None:
        """For the doctor."""
        with self.opened(tmp_path) as backend:
            assert {"engine", "cipher", "schema"} <= backend.describe().keys()


def _row(seq: int) -> Row:
    return Row(seq, f"mem_{seq}", "", f'{{"n":{seq}}}', b"\1" * 32)


def _event(seq: int) -> EventRow:
    return EventRow(seq, "2026-01-01T00:00:00.000000Z", "test", "{}", b"\0" * 32, b"\3" * 32)
