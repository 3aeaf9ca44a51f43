"""Bytes that are no text, written where text belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import intruder
from truekeep import Keep, StoreTampered

FORGED = "INSERT INTO memories(seq, id, tag, body, mac) VALUES (900, {}, {}, {}, x'00')"
ROWS = {
    "a body": FORGED.format("'mem_x'", "''", "CAST(x'ff41' AS TEXT)"),
    "an id": FORGED.format("CAST(x'c3' AS TEXT)", "''", "'{}'"),
    "a tag": FORGED.format("'mem_x'", "CAST(x'eda080' AS TEXT)", "'{}'"),
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("while_open", [True, False], ids=["while open", "while closed"])
def test_a_row_that_is_no_text_blinds_nobody(home: Path, keep: Keep, row: str, while_open: bool) -> None:
    keep.remember("The office is in Nitra.", via="user")
    keep.remember("It closes at five.", via="user")
    if not while_open:
        keep.close()
    with intruder(home) as connection:
        connection.execute(ROWS[row])
    with keep if while_open else Keep.open("alice", home=home) as reader:
        assert [entry["blocked"] for entry in reader.get_memories()] == [False, False, True]
        assert [hit.text for hit in reader.recall("office in Nitra")] == ["The office is in Nitra."]
        assert not reader.audit.verify().ok
        reader.delete_memory(reader.get_memories()[-1]["id"], via="user")
        assert reader.audit.verify().ok


def test_a_memory_made_into_bytes_that_read_alike_is_not_believed(home: Path, keep: Keep) -> None:
    """The mark for what cannot be read, stored as such, must not stand in for bytes that cannot be read."""
    keep.remember("The sign says \ufffd and nothing else.", via="user")
    keep.remember("It closes at five.", via="user")
    with intruder(home) as connection:
        edit = "UPDATE memories SET body = CAST(replace(CAST(body AS BLOB), x'efbfbd', x'ff') AS TEXT) WHERE seq = 1"
        connection.execute(edit)
    assert [entry["blocked"] for entry in keep.get_memories()] == [True, False]


def test_an_event_that_is_no_text_stops_every_read(home: Path, keep: Keep) -> None:
    keep.remember_many(["The office is in Nitra.", "It closes at five."], via="user")
    keep.close()
    with intruder(home) as connection:
        connection.execute("UPDATE events SET body = CAST(x'ff' AS TEXT) WHERE seq = 2")
    with pytest.raises(StoreTampered) as caught:
        Keep.open("alice", home=home)
    assert caught.value.code == "chain_broken"
