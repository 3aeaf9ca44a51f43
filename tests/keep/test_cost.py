"""What opening, recalling and following a write cost, counted in rows read and seals computed rather than timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from truekeep import Keep
from truekeep.search import index as index_module
from truekeep.stores import seal as seal_module
from truekeep.stores.sqlite import SqliteBackend

Counts = Counter[str]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Counts rows as they leave the database, rows as they are sealed or checked, and cards that the index takes in."""
    counted: Counts = Counter()
    found, content, take_in_one = SqliteBackend._found, seal_module._content, index_module.Index._take_in_one

    def counting_found(self: SqliteBackend, statement: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        for row in found(self, statement, values):
            counted["events" if "FROM events" in statement else "rows"] += 1
            yield row

    def counting_content(row: Any) -> bytes:
        counted["seals"] += 1
        return content(row)

    def counting_take_in(self: index_module.Index, seq: int, blob: bytes) -> bool:
        counted["indexed"] += 1
        return take_in_one(self, seq, blob)

    monkeypatch.setattr(SqliteBackend, "_found", counting_found)
    monkeypatch.setattr(seal_module, "_content", counting_content)
    monkeypatch.setattr(index_module.Index, "_take_in_one", counting_take_in)
    return counted


def filled(keep: Keep, size: int) -> None:
    keep.remember_many([f"Shelf {number} of the cellar holds jar {number}." for number in range(size)], via="user")


@pytest.mark.parametrize("size", [40, 400])
def test_opening_checks_every_row_once_and_the_first_recall_only_what_it_shows(
    home: Path, keep: Keep, counts: Counts, size: int
) -> None:
    filled(keep, size)
    keep.close()
    counts.clear()
    with Keep.open("alice", home=home) as again:
        assert counts["seals"] == size
        counts.clear()
        assert len(again.recall("jar of the cellar", k=5)) == 5
        assert (counts["seals"], counts["rows"]) == (5, 5)


@pytest.mark.parametrize("size", [40, 400])
def test_a_recall_reads_and_checks_no_more_than_it_shows(keep: Keep, counts: Counts, size: int) -> None:
    filled(keep, size)
    keep.recall("cellar")
    counts.clear()
    assert len(keep.recall("jar of the cellar", k=5)) == 5
    assert (counts["rows"], counts["seals"]) == (5, 5)


@pytest.mark.parametrize("size", [40, 400])
def test_a_recall_right_after_a_write_reads_the_changed_row_and_what_it_shows(
    keep: Keep, counts: Counts, size: int
) -> None:
    filled(keep, size)
    keep.recall("cellar")
    stored = keep.remember("The attic holds a trunk.", via="user").memory_id
    assert stored
    counts.clear()
    assert len(keep.recall("trunk in the attic", k=5)) == 1
    assert (counts["rows"], counts["indexed"]) == (2, 1)
    keep.delete_memory(stored, via="user")
    counts.clear()
    assert keep.recall("trunk in the attic", k=5) == []
    assert (counts["rows"], counts["indexed"]) == (0, 0)


@pytest.mark.parametrize("size", [40, 400])
def test_what_another_process_wrote_is_checked_and_nothing_else(
    home: Path, keep: Keep, counts: Counts, size: int
) -> None:
    filled(keep, size)
    keep.recall("cellar")
    # The look at everything that is due now and then is not what is counted here.
    keep._ledger._verified.due = float("inf")
    with Keep.open("alice", home=home) as other:
        other.remember_many(["The attic holds a trunk.", "The trunk is locked."], via="user")
    counts.clear()
    assert len(keep.recall("trunk", k=5)) == 2
    # Once to learn where they are, once to index them, once to show them.
    assert (counts["indexed"], counts["rows"], counts["seals"]) == (2, 6, 6)
    assert counts["events"] < 10
